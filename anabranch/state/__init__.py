"""State as engines hold it: in numbered parts."""
