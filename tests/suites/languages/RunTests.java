import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.Request;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/** Runs the JUnit tests of a class, or one (CLASS.testNAME), and prints a line for each; ends with 0 if all were run. */
public final class RunTests extends RunListener {
    private Failure failure;

    public static void main(String[] arguments) throws ClassNotFoundException {
        JUnitCore core = new JUnitCore();
        core.addListener(new RunTests());
        String[] words = arguments[0].split("(?=\\.test)");
        Class<?> tests = Class.forName(words[0]);
        core.run(words.length == 1 ? Request.aClass(tests) : Request.method(tests, words[1].substring(1)));
        System.exit(0); // A test may leave threads behind.
    }

    @Override
    public void testStarted(Description test) {
        failure = null;
    }

    @Override
    public void testFailure(Failure failure) {
        this.failure = failure;
    }

    @Override
    public void testIgnored(Description test) {
        System.out.println("SKIP " + name(test));
    }

    @Override
    public void testFinished(Description test) {
        String word = failure == null ? "PASS " : "FAIL ";
        String reason = failure == null ? "" : "  " + failure.getException().toString().replaceAll("\\s+", " ");
        System.out.println(word + name(test) + reason);
    }

    private static String name(Description test) {
        return test.getTestClass().getSimpleName() + "." + test.getMethodName();
    }
}
