"""From a folder of files to passages, and an index that follows the folder.

Importing this package loads no converter; files are converted in processes of their own (`worker`).
"""

from typing import TYPE_CHECKING

from polyqa.base.lazy import lazy_names

if TYPE_CHECKING:
    from .folder import Documents, holds_documents
    from .splitting import Splitter, split_passages
    from .syncing import Synced, sync_index

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".folder": "Documents holds_documents",
        ".splitting": "Splitter split_passages",
        ".syncing": "Synced sync_index",
    },
)
__all__ = ["Documents", "Splitter", "Synced", "holds_documents", "split_passages", "sync_index"]
