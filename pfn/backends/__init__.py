"""WHERE: backends bind the operations of a program to memory and perform them. They contain no mathematics."""
