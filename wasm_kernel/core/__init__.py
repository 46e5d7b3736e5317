"""What everything speaks; knows neither Wasmtime nor Jupyter."""
