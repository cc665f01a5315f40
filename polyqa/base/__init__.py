"""The ground floor: values, errors, files, work that resumes, text. It imports nothing of polyqa."""
