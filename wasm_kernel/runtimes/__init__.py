"""The languages a sandbox can run, one folder each."""
