//! The bootstrap kubeconfig: where the hub is, and the credentials for the first request.
//!
//! The file, and the certificates, keys and tokens that it names, are read again every 10 s, so that a new token, URL or CA is used without
//! a restart.

use std::path::{Path, PathBuf};
use std::time::Duration;

use berth_agent_core::kubeconfig::HubEndpoint;
use berth_hub::{Access, HubApi};
use tokio::task::spawn_blocking;

/// How often the file is read.
const PERIOD: Duration = Duration::from_secs(10);

/// How often a file is read that cannot be used: a user may be about to write it.
const PERIOD_UNUSABLE: Duration = Duration::from_secs(1);

/// The bootstrap kubeconfig, as it was last read.
#[derive(Debug)]
pub(crate) struct Bootstrap {
    path: PathBuf,
    /// The flag that names the file, for messages.
    flag: &'static str,
    /// It and the files that it names: to read and compare them costs little, to parse them much.
    content: Content,
    /// What it says, or why it cannot be used.
    read: Result<Hub, String>,
}

/// The files that were read, with their bytes. `None`: it could not be read.
type Content = Vec<(PathBuf, Option<Vec<u8>>)>;

/// The hub that the file names.
#[derive(Clone, Debug)]
pub(crate) struct Hub {
    pub(crate) endpoint: HubEndpoint,
    /// The kubeconfig of the agent for this hub.
    pub(crate) kubeconfig: String,
    /// Connections with the credentials of the file.
    pub(crate) api: HubApi,
}

// === impl Bootstrap ===

impl Bootstrap {
    pub(crate) fn new(path: PathBuf, flag: &'static str) -> Self {
        Self {
            read: Err(format!("{flag} {} has not been read yet", path.display())),
            content: vec![(path.clone(), None)],
            path,
            flag,
        }
    }

    /// The hub that the file named when it was last read.
    pub(crate) fn hub(&self) -> Result<&Hub, &str> {
        self.read.as_ref().map_err(String::as_str)
    }

    /// How long until the file is to be read again.
    pub(crate) fn period(&self) -> Duration {
        match self.read {
            Ok(_) => PERIOD,
            Err(_) => PERIOD_UNUSABLE,
        }
    }

    /// Reads the file and those that it names. Returns true if their content has changed.
    pub(crate) async fn refresh(&mut self) -> bool {
        let (path, flag) = (self.path.clone(), self.flag);
        let known = std::mem::take(&mut self.content);
        let is_usable = self.read.is_ok();
        let read = spawn_blocking(move || {
            let is_same =
                |(file, bytes): &(PathBuf, Option<Vec<u8>>)| std::fs::read(file).ok() == *bytes;
            if is_usable && known.iter().all(is_same) {
                return (known, None);
            }
            let files = berth_hub::files(&Access::of_bootstrap(Some(path.clone())));
            let files = files.unwrap_or_else(|| vec![path.clone()]);
            let content = files.into_iter().map(|file| {
                let bytes = std::fs::read(&file).ok();
                (file, bytes)
            });
            let content: Content = content.collect();
            let has_changed = content != known;
            (content, Some((has_changed, endpoint(&path, flag))))
        });
        let (has_changed, endpoint) = match read.await {
            Ok((content, read)) => {
                self.content = content;
                match read {
                    None => return false,
                    Some(read) => read,
                }
            }
            Err(error) => (true, Err(error.to_string())),
        };
        self.read = match endpoint {
            Ok(endpoint) => self.connect(endpoint).await,
            Err(why) => Err(why),
        };
        has_changed
    }

    async fn connect(&self, endpoint: HubEndpoint) -> Result<Hub, String> {
        let kubeconfig = (endpoint.kubeconfig())
            .map_err(|error| format!("{} {}: {error}", self.flag, self.path.display()))?;
        let access = Access::of_bootstrap(Some(self.path.clone()));
        // The error names the file by another flag.
        let api = HubApi::connect(&access).await.map_err(|error| {
            let error = error.to_string();
            error.replacen("--kubeconfig", self.flag, 1)
        })?;
        Ok(Hub {
            endpoint,
            kubeconfig,
            api,
        })
    }
}

fn endpoint(path: &Path, flag: &str) -> Result<HubEndpoint, String> {
    let read = berth_hub::endpoint(path, flag).map_err(|error| error.to_string())?;
    Ok(HubEndpoint {
        cluster: read.cluster,
        server: read.server,
        certificate_authority: read.certificate_authority,
        certificate_authority_data: read.certificate_authority_data,
        proxy_url: read.proxy_url,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_that_it_names_are_read_again_as_itself() {
        berth_certs::install_provider();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, content: &str| std::fs::write(at(name), content).unwrap();
        let kubeconfig = "{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], \
                          clusters: [{name: c, cluster: {server: 'https://h', insecure-skip-tls-verify: true}}], \
                          users: [{name: u, user: {tokenFile: token}}]}";
        write("kubeconfig", kubeconfig);
        write("token", "t1\n");
        let mut bootstrap = Bootstrap::new(at("kubeconfig"), "--bootstrap-kubeconfig");
        assert!(bootstrap.refresh().await);
        assert!(bootstrap.hub().is_ok(), "{:?}", bootstrap.hub());
        assert!(!bootstrap.refresh().await);
        write("token", "t2\n");
        assert!(bootstrap.refresh().await, "the token has changed");
        assert!(!bootstrap.refresh().await);

        // Values that a library would panic on.
        for (name, content, words) in [
            ("token", "t\n3", "tokenFile: "),
            ("token", "t3", ""),
            (
                "kubeconfig",
                &*kubeconfig.replace("https://", ""),
                "server: \"h\" has no scheme",
            ),
            ("kubeconfig", kubeconfig, ""),
        ] {
            write(name, content);
            assert!(bootstrap.refresh().await, "{content}");
            match bootstrap.hub() {
                Ok(_) => assert_eq!(words, "", "{content}"),
                Err(why) => {
                    let file = format!("--bootstrap-kubeconfig {}: ", at("kubeconfig").display());
                    assert!(why.starts_with(&file) && why.contains(words), "{why}");
                    assert!(!words.is_empty(), "{why}");
                }
            }
        }
    }
}
