//! The same writes by `kube` and by `kubectl`, and their outcomes.

use serde_json::Value;

use crate::cluster::http::Answer;
use crate::cluster::{Output, Person, collection_of, kind_of, path_of};
use crate::{eventually, when};

/// The client of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The client of `kube`.
    Kube,
    /// `kubectl`; the outcome is its output.
    Kubectl,
}

/// Makes two tests of each of these functions, which take a [`By`](crate::writes::By).
#[macro_export]
macro_rules! by_each_client {
    ($($test:ident),+ $(,)?) => {
        mod by_kube {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test($crate::writes::By::Kube).await;
                }
            )+
        }

        mod by_kubectl {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    if $crate::cluster::kubectl_is_there() {
                        super::$test($crate::writes::By::Kubectl).await;
                    }
                }
            )+
        }
    };
}
impl By {
    /// The name of the client, for names of objects.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kube => "kube",
            Self::Kubectl => "kubectl",
        }
    }
}

/// A user with a client.
#[derive(Clone, Copy)]
pub struct Hand<'p> {
    person: &'p Person,
    by: By,
    dry_run: bool,
}

/// The outcome of a write.
#[derive(Debug)]
pub enum Written {
    /// The response of the hub.
    ByKube(Answer),
    /// The outcome of a kubectl command.
    ByKubectl {
        /// What it printed.
        output: Output,
        /// The action that kubectl names in its error, if it names one.
        doing: &'static str,
    },
}

impl Person {
    /// A user with this client.
    pub fn by(&self, by: By) -> Hand<'_> {
        Hand {
            person: self,
            by,
            dry_run: false,
        }
    }
}

impl Hand<'_> {
    /// Later writes are dry runs.
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Creates the object.
    pub async fn create(&self, object: &Value) -> Written {
        match self.by {
            By::Kube => {
                let path = self.path(collection_of(object));
                Written::ByKube(self.person.post(&path, object).await.unwrap())
            }
            By::Kubectl => {
                let args = ["create", "-f", "-", "-o", "json"];
                let doing = "error when creating \"STDIN\": ";
                self.kubectl(&args, &object.to_string(), doing).await
            }
        }
    }

    /// A server-side apply that forces conflicts.
    pub async fn apply(&self, object: &Value) -> Written {
        match self.by {
            By::Kube => {
                let path = self.path(path_of(object));
                Written::ByKube(
                    self.person
                        .apply_as("kubectl", &path, object)
                        .await
                        .unwrap(),
                )
            }
            By::Kubectl => {
                let args = [
                    "apply",
                    "--server-side",
                    "--force-conflicts",
                    "-f",
                    "-",
                    "-o",
                    "json",
                ];
                self.kubectl(&args, &object.to_string(), "").await
            }
        }
    }

    /// Replaces the stored object, whatever its version.
    pub async fn replace(&self, object: &Value) -> Written {
        match self.by {
            By::Kube => {
                let stored = self.person.get(&path_of(object)).await.unwrap();
                let mut object = object.clone();
                object["metadata"]["resourceVersion"] =
                    stored.ok()["metadata"]["resourceVersion"].clone();
                let path = self.path(path_of(&object));
                Written::ByKube(self.person.put(&path, &object).await.unwrap())
            }
            By::Kubectl => {
                let args = ["replace", "-f", "-", "-o", "json"];
                let doing = "error when replacing \"STDIN\": ";
                self.kubectl(&args, &object.to_string(), doing).await
            }
        }
    }

    /// A merge patch of the stored object with the kind and name of this one.
    pub async fn merge(&self, object: &Value, patch: &Value) -> Written {
        match self.by {
            By::Kube => {
                let path = self.path(path_of(object));
                Written::ByKube(self.person.merge(&path, patch).await.unwrap())
            }
            By::Kubectl => {
                let name = object["metadata"]["name"].as_str().unwrap();
                let namespace = object["metadata"]["namespace"].as_str();
                let patch = patch.to_string();
                let args = [
                    "patch",
                    kind_of(object).0,
                    name,
                    "-n",
                    namespace.unwrap_or("default"),
                    "--type=merge",
                    "-p",
                    &patch,
                    "-o",
                    "json",
                ];
                self.kubectl(&args, "", "").await
            }
        }
    }

    /// Deletes the object; it stays until its finalizers are removed.
    pub async fn delete(&self, object: &Value) -> Written {
        match self.by {
            By::Kube => {
                let path = self.path(path_of(object));
                Written::ByKube(self.person.delete(&path).await.unwrap())
            }
            By::Kubectl => {
                let args = ["delete", "--wait=false", "-o", "name", "-f", "-"];
                let doing = "error when deleting \"STDIN\": ";
                self.kubectl(&args, &object.to_string(), doing).await
            }
        }
    }

    /// The stored object.
    pub async fn get(&self, object: &Value) -> Value {
        self.person
            .get(&path_of(object))
            .await
            .unwrap()
            .ok()
            .clone()
    }

    /// Waits until the object does not exist any more.
    pub async fn wait_until_gone(&self, object: &Value) {
        eventually("the end of the object", async || {
            let answer = self.person.get(&path_of(object)).await.unwrap();
            when(answer, |it| it.code == 404)
        })
        .await;
    }

    fn path(&self, path: String) -> String {
        if self.dry_run {
            path + "?dryRun=All"
        } else {
            path
        }
    }

    async fn kubectl(&self, args: &[&str], stdin: &str, doing: &'static str) -> Written {
        let dry_run: &[&str] = if self.dry_run {
            &["--dry-run=server"]
        } else {
            &[]
        };
        let args = [args, dry_run].concat();
        let output = self.person.kubectl_reading(stdin, &args).await;
        Written::ByKubectl { output, doing }
    }
}

impl Written {
    /// The object as it was stored, or would have been in a dry run; the write had no warning.
    #[track_caller]
    pub fn ok(&self) -> Value {
        let (object, warnings) = self.ok_with_warnings();
        assert_eq!(warnings, [""; 0], "{self:?}");
        object
    }

    /// The object as it was stored, or would have been in a dry run, and the warnings.
    #[track_caller]
    pub fn ok_with_warnings(&self) -> (Value, Vec<String>) {
        match self {
            Self::ByKube(answer) => (answer.ok().clone(), answer.warnings.clone()),
            Self::ByKubectl { output, .. } => {
                // JSON, or a name.
                let text = output.ok();
                let object = serde_json::from_str(text).unwrap_or_else(|_| text.into());
                let warnings = output.stderr.lines().map(|line| {
                    let warning = line.strip_prefix("Warning: ");
                    warning.unwrap_or_else(|| panic!("{output:?}")).to_owned()
                });
                (object, warnings.collect())
            }
        }
    }

    /// Checks that the write was refused with this code, reason and exact message, without a warning.
    #[track_caller]
    pub fn refused(&self, code: u16, reason: &str, message: &str) {
        self.refused_with_warnings(&[], code, reason, message);
    }

    /// Checks that the write was refused, for any reason.
    #[track_caller]
    pub fn is_refused(&self) {
        match self {
            Self::ByKube(answer) => assert!(answer.code >= 400, "{answer:?}"),
            Self::ByKubectl { output, .. } => assert_ne!(output.failed(), ""),
        }
    }

    /// Checks that this webhook refused the write with this code, reason and exact lines, without a warning.
    #[track_caller]
    pub fn denied(&self, webhook: &str, code: u16, reason: &str, lines: &[&str]) {
        self.refused(code, reason, &denial(webhook, lines));
    }

    /// As [`denied`](Self::denied), with this warning.
    #[track_caller]
    pub fn denied_with_warning(
        &self,
        warning: &str,
        webhook: &str,
        code: u16,
        reason: &str,
        lines: &[&str],
    ) {
        self.refused_with_warnings(&[warning], code, reason, &denial(webhook, lines));
    }

    #[track_caller]
    fn refused_with_warnings(&self, warnings: &[&str], code: u16, reason: &str, message: &str) {
        match self {
            Self::ByKube(answer) => {
                assert_eq!(answer.refused(code, reason), message);
                assert_eq!(answer.warnings, warnings);
            }
            Self::ByKubectl { output, doing } => {
                let warnings: String = warnings
                    .iter()
                    .map(|warning| format!("Warning: {warning}\n"))
                    .collect();
                assert_eq!(
                    output.failed(),
                    format!("{warnings}Error from server ({reason}): {doing}{message}\n")
                );
            }
        }
    }
}

/// The message with which an API server passes a denial on.
fn denial(webhook: &str, lines: &[&str]) -> String {
    let group = match webhook {
        _ if webhook.contains("addon") => "addon",
        _ if webhook.starts_with("manifestwork") => "work",
        _ => "cluster",
    };
    format!(
        "admission webhook \"{webhook}.admission.{group}.open-cluster-management.io\" denied the request: {}",
        lines.join("\n")
    )
}
