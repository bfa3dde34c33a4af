"""What lies in a results folder: the form of each kind of file. This room knows no task."""
