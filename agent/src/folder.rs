//! The folder with the agent's identity for the hub, as files: what connections to the hub are made of.
//!
//! The Secret is the truth; the folder follows it. Each file is replaced atomically, and only the owner can read it. A reader may see the
//! certificate with the former key for a moment; connections then stay as they are until the next look.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use berth_agent_core::held::{
    AGENT_NAME, CERTIFICATE, CLUSTER_NAME, KUBECONFIG, PRIVATE_KEY, SecretData,
};

/// The folder.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

/// The folder cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("--hub-kubeconfig-dir: {}: {source}", .path.display())]
pub(crate) struct FolderError {
    path: PathBuf,
    source: io::Error,
}

// === impl Folder ===

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The kubeconfig, whose paths are relative to the folder.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.0.join(KUBECONFIG)
    }

    /// Reads the files that a Secret would have. Files that cannot be read are left out.
    pub(crate) fn read(&self) -> SecretData {
        let read = |name: &str| Some((name.to_owned(), fs::read(self.0.join(name)).ok()?));
        [
            CERTIFICATE,
            PRIVATE_KEY,
            KUBECONFIG,
            CLUSTER_NAME,
            AGENT_NAME,
        ]
        .into_iter()
        .filter_map(read)
        .collect()
    }

    /// Writes a file for each key whose content differs. Other files stay.
    pub(crate) fn write(&self, data: &SecretData) -> Result<(), FolderError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| FolderError { path, source }
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&self.0).map_err(at(&self.0))?;
        // Kubernetes allows no other keys.
        let is_file = |name: &str| !name.contains('/') && !name.starts_with("..");
        for (name, content) in data.iter().filter(|(name, _)| is_file(name)) {
            let path = self.0.join(name);
            if fs::read(&path).is_ok_and(|it| it == *content) {
                continue;
            }
            replace(&path, content).map_err(at(&path))?;
        }
        Ok(())
    }
}

/// Writes beside the file, and renames.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&new)?;
    // One that was left by a killed process keeps its mode.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn data(pairs: &[(&str, &str)]) -> SecretData {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), value.as_bytes().to_vec());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn files_are_the_owners_and_follow_the_secret() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path().join("a/hub-kubeconfig"));
        folder
            .write(&data(&[
                (CERTIFICATE, "c"),
                (PRIVATE_KEY, "k"),
                ("other", "o"),
            ]))
            .unwrap();
        let path = |name: &str| root.path().join("a/hub-kubeconfig").join(name);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path("")), 0o700);
        assert_eq!(mode(&path(PRIVATE_KEY)), 0o600);
        fs::write(path("tls.key.new"), "left").unwrap();
        folder
            .write(&data(&[(PRIVATE_KEY, "k2"), (KUBECONFIG, "")]))
            .unwrap();
        assert_eq!(mode(&path(PRIVATE_KEY)), 0o600);
        let expected = data(&[(CERTIFICATE, "c"), (PRIVATE_KEY, "k2"), (KUBECONFIG, "")]);
        assert_eq!(folder.read(), expected);
        assert!(!path("tls.key.new").exists());
        assert_eq!(fs::read_to_string(path("other")).unwrap(), "o");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        let folder = Folder::new(file.join("folder"));
        let error = folder.write(&data(&[])).unwrap_err().to_string();
        assert!(
            error.starts_with("--hub-kubeconfig-dir: ") && error.contains("file/folder"),
            "{error}"
        );
    }
}
