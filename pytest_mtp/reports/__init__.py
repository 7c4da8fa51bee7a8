"""A RunReport as text for the places where people look; pure."""
