"""What kind of file system a path lies on, as the kernel's table of mounts tells."""

import re

# Where another machine decides on a lock: it may be granted to everyone, refused, or never answered.
_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|9p|afs|auristorfs|ceph|coda|ncpfs|lustre|gfs2?|ocfs2|gpfs|beegfs|orangefs|pvfs2|glusterfs"
    r"|fuse\.(?:sshfs|s3fs|rclone|gcsfuse|glusterfs|cephfs|ceph-fuse|davfs2?|curlftpfs|juicefs|mount\.s3|mountpoint-s3|nfs.*|smb.*)"
)
_PLACE = 4  # the field that says where a mount is seen
_FIELDS = 6
_ESCAPE = re.compile(r"\\([0-7]{3})")


def file_system(path: str, mountinfo: str) -> str | None:
    """The type of the file system at an absolute path without links; ``None`` when no mount holds it.

    ``mountinfo`` is in the form of ``/proc/self/mountinfo``; of several mounts at one place the last is seen.
    """
    found, longest = None, -1
    for line in mountinfo.splitlines():
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if not dash or len(fields) < _FIELDS:
            continue
        place = _ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[_PLACE]).rstrip("/")
        if len(place) >= longest and f"{path}/".startswith(f"{place}/"):
            found, longest = after.split(" ")[0], len(place)
    return found


def is_network(kind: str) -> bool:
    """Whether another machine keeps the files of a file system of this type."""
    return _NETWORK.fullmatch(kind) is not None
