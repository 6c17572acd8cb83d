"""ScaleIns and ScaleOuts: objects that resize an elastic job once."""
