"""nbclient executes notebooks: a client and an IPython kernel on pyzmq, the kernel a process of its own."""

NOTEBOOK = '''
import asyncio, sys, traceback
import nbclient, nbformat
from nbclient.exceptions import CellExecutionError
from jupyter_client.manager import AsyncKernelManager

def execute(cells, transport="tcp", **options):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    manager = AsyncKernelManager(kernel_name="python3", transport=transport)
    client = nbclient.NotebookClient(notebook, km=manager, **{"timeout": 60, "startup_timeout": 60, **options})
    client.execute()
    return notebook.cells

def text(cell):
    return "".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)

def many_cells():
    cells = execute(["x = 0"] + ["x += 1; x"] * 200)
    assert text(cells[-1]) == "200", text(cells[-1])

def ipc():
    cells = execute(["a = 20", "a + 22"], "ipc")
    assert text(cells[-1]) == "42", text(cells[-1])

def much_output():
    cells = execute(["for i in range(20000): print(i)", "print('x' * 5000000)", "1"])
    assert text(cells[0]) == "".join(f"{i}\\n" for i in range(20000)), len(text(cells[0]))
    assert len(text(cells[1])) == 5000001, len(text(cells[1]))

def error():
    try:
        execute(["1 / 0", "1"])
    except CellExecutionError as error:
        assert "ZeroDivisionError" in str(error)
    else:
        raise AssertionError("no error")

def interrupt():
    limits = {"timeout": 2, "interrupt_on_timeout": True, "allow_errors": True}
    cells = execute(["import time", "time.sleep(600)", "'after'"], **limits)
    assert cells[1].outputs[-1].ename == "KeyboardInterrupt", cells[1].outputs
    assert text(cells[2]) == "'after'", text(cells[2])

async def _restart():
    manager = AsyncKernelManager(kernel_name="python3")
    await manager.start_kernel()
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready(timeout=60)
    await manager.restart_kernel(now=True)
    await client.wait_for_ready(timeout=60)
    reply = await client.execute_interactive("print(6 * 7)", timeout=60, output_hook=lambda message: None)
    client.stop_channels()
    await manager.shutdown_kernel(now=True)
    return reply["content"]["status"]

def restart():
    assert asyncio.run(_restart()) == "ok"

for test in (many_cells, ipc, much_output, error, interrupt, restart):
    try:
        test()
        print("PASS", test.__name__, flush=True)
    except BaseException as error:
        print("FAIL", test.__name__ + "  " + " ".join(repr(error).split())[:120], flush=True)
        traceback.print_exc(file=sys.stderr)
'''


def install(place):
    if place.prefix:  # Otherwise it is Debian's, as is its pyzmq.
        place.venv("pyzmq==27.3.0", "nbclient==0.11.0", "ipykernel==7.4.0", "nbformat==5.11.1", "jupyter_client==8.10.0")


def run(place):
    place.use_library()
    folder = place.logs / "home"
    folder.mkdir()
    places = {"HOME": str(folder), "IPYTHONDIR": str(folder), "JUPYTER_PREFER_ENV_PATH": "1"}
    python = place.cache / "venv" / "bin" / "python" if place.prefix else "/usr/bin/python3"
    place.lines("notebooks", python, "-c", NOTEBOOK, env=place.environment(**places), cwd=folder, seconds=400)
