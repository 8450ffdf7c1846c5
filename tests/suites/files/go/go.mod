module zlink.tests/files

go 1.19
