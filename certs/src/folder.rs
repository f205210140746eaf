//! A certificate folder: `tls.crt` and `tls.key`, as the kubelet mounts a `kubernetes.io/tls` Secret.
//!
//! The kubelet writes each new generation into a new directory and then replaces the symlink `..data`. The visible files
//! are symlinks through `..data`. So `..data` is resolved once, and both files are read from that directory: they belong to
//! one generation even if the kubelet replaces the symlink between the two reads. The files are polled: a watch would stay
//! on an inode that does not change any more.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::issue::{CERTIFICATE_FILE, KEY_FILE};
use crate::pair::Pair;
use crate::pem::{CertError, PemFile};
use crate::serving::PairSource;

/// A folder with `tls.crt` and `tls.key`.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes a source for the folder at `path`, without reading it.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn attempt(&self, now: Timestamp) -> Result<Pair, CertError> {
        let data = self.path.join("..data");
        let generation = data.canonicalize().unwrap_or_else(|_| self.path.clone());
        // Messages contain the path that the user knows, not that of the generation.
        let read = |file: &str| {
            PemFile::read(
                &generation.join(file),
                self.path.join(file).display().to_string(),
            )
        };
        Pair::from_pem(&read(CERTIFICATE_FILE)?, &read(KEY_FILE)?, now)
    }
}

impl PairSource for Folder {
    /// Reads the pair, and retries once: the kubelet may have removed the generation, or the user replaced plain files,
    /// during the first attempt.
    fn load(&self, now: Timestamp) -> Result<Pair, CertError> {
        self.attempt(now).or_else(|_| self.attempt(now))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;
    use crate::issue::Issued;
    use crate::pem::Problem;
    use crate::testing::{KubeletVolume, authority, leaf};

    fn load(path: &Path) -> Result<Pair, CertError> {
        Folder::new(path).load(Timestamp::now())
    }

    fn write(path: &Path, issued: &Issued) {
        issued.write_folder(path).unwrap();
    }

    #[test]
    fn plain_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let issued = leaf(&authority());
        write(dir.path(), &issued);
        assert_eq!(load(dir.path()).unwrap().not_after, issued.not_after);
    }

    #[test]
    fn a_kubelet_volume_is_read_through_its_swaps() {
        let dir = tempfile::tempdir().unwrap();
        let authority = authority();
        let mut volume = KubeletVolume::new(dir.path());
        let mut digests = Vec::new();
        for _ in 0..3 {
            volume.swap(&leaf(&authority));
            digests.push(load(dir.path()).unwrap().digest);
        }
        assert!(digests[0] != digests[1] && digests[1] != digests[2]);
    }

    #[test]
    fn both_files_come_from_the_generation_that_data_names() {
        let dir = tempfile::tempdir().unwrap();
        let authority = authority();
        let mut volume = KubeletVolume::new(dir.path());
        volume.swap(&leaf(&authority));
        let good = load(dir.path()).unwrap().digest;
        // As if the swap came between the two reads: through the folder itself, the key would be another one's.
        fs::remove_file(dir.path().join(KEY_FILE)).unwrap();
        fs::write(dir.path().join(KEY_FILE), leaf(&authority).key_pem).unwrap();
        assert_eq!(load(dir.path()).unwrap().digest, good);
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_named_by_the_path_the_user_knows() {
        let authority = authority();
        let pair = leaf(&authority);
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);

        write(&at("no-key"), &pair);
        fs::remove_file(at("no-key/tls.key")).unwrap();
        write(&at("mixed"), &pair);
        fs::write(at("mixed/tls.key"), leaf(&authority).key_pem).unwrap();
        fs::create_dir_all(at("directory/tls.crt")).unwrap();
        KubeletVolume::new(&at("mounted")).swap(&pair);
        fs::remove_file(at("mounted/..data/tls.crt")).unwrap();

        // (sentence, folder, file blamed, problem)
        let mismatch = Problem::KeyMismatch {
            certificate: at("mixed/tls.crt").display().to_string(),
        };
        let table = [
            ("no folder", "nowhere", "nowhere/tls.crt", Problem::Missing),
            ("no key", "no-key", "no-key/tls.key", Problem::Missing),
            ("files of two issues", "mixed", "mixed/tls.key", mismatch),
            (
                "a generation without a certificate",
                "mounted",
                "mounted/tls.crt",
                Problem::Missing,
            ),
        ];
        for (sentence, folder, blamed, problem) in table {
            let error = load(&at(folder)).unwrap_err();
            assert_eq!(error.file, at(blamed).display().to_string(), "{sentence}");
            assert_eq!(error.problem, problem, "{sentence}");
        }

        let error = load(&at("directory")).unwrap_err();
        assert!(matches!(error.problem, Problem::Unreadable(_)), "{error:?}");
        assert!(error.to_string().contains("read access"), "{error}");
    }

    #[test]
    fn files_are_written_atomically_and_only_the_owner_can_read_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("not/there/yet");
        let authority = authority();
        for _ in 0..2 {
            write(&path, &leaf(&authority));
            let mode = fs::metadata(path.join(KEY_FILE))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600);
            assert!(load(&path).is_ok());
        }
        let mut names: Vec<_> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["ca.crt", "tls.crt", "tls.key"]);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let error = leaf(&authority())
            .write_folder(&dir.path().join("file/certs"))
            .unwrap_err();
        assert!(
            error.to_string().contains("file/certs cannot be written"),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .contains("check that the folder is writable"),
            "{error}"
        );

        fs::create_dir_all(dir.path().join("taken/tls.key")).unwrap();
        let error = leaf(&authority())
            .write_folder(&dir.path().join("taken"))
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("taken/tls.key cannot be written"),
            "{error}"
        );
        let left: Vec<_> = fs::read_dir(dir.path().join("taken"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(
            left.iter()
                .all(|name| !name.to_string_lossy().ends_with(".new")),
            "{left:?}"
        );
    }
}
