"""From a folder of files to passages, and an index that follows the folder.

Importing this package loads no converter; files are converted in processes of their own (`worker`).
"""

from typing import TYPE_CHECKING

from polyqa.base.lazy import lazy_names

if TYPE_CHECKING:
    from .folder import Documents as Documents
    from .folder import holds_documents as holds_documents
    from .splitting import Splitter as Splitter
    from .splitting import split_passages as split_passages
    from .syncing import Synced as Synced
    from .syncing import sync_index as sync_index

__getattr__, __dir__, __all__ = lazy_names(__name__)
