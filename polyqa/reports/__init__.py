"""What people read of answers, compilations and adaptations: HTML and Markdown from `base/templates/`, and drawings."""
