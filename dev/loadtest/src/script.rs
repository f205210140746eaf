//! The reviews to send and their order: from files, or generated (see [`generate`](crate::generate)).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::check::Expect;

/// Paths under which OCM's webhook and Berth's gate serve.
pub(crate) mod paths {
    use berth_manifests::webhooks;

    pub(crate) const MUTATE_CLUSTER: &str = webhooks::MUTATE_CLUSTER.path;
    pub(crate) const VALIDATE_CLUSTER: &str = webhooks::VALIDATE_CLUSTER.path;
    pub(crate) const VALIDATE_SET: &str = webhooks::VALIDATE_SET.path;
    pub(crate) const VALIDATE_BINDING: &str = webhooks::VALIDATE_BINDING.path;
}

/// A review to send.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Review {
    /// Index into [`Script::labels`], for the counts.
    pub(crate) label: usize,
    /// The path of its webhook, used if the address has no path.
    pub(crate) path: &'static str,
    pub(crate) body: Vec<u8>,
    pub(crate) uid: Uid,
    pub(crate) expect: Expect,
}

/// The uid that a response must contain.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Uid {
    /// Any uid.
    Any,
    /// The uid of the file, because the review is sent unchanged.
    Of(String),
    /// A new uid for each request, written to the 36 bytes at this position of the body.
    FreshAt(usize),
}

/// Reviews and their order, which is repeated until the run ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Script {
    pub(crate) labels: Vec<String>,
    pub(crate) reviews: Vec<Review>,
    /// Indices into `reviews`.
    pub(crate) order: Vec<u32>,
}

/// Maximum number of labels, because each has counters and a histogram on each connection. Further files share the last label.
const MOST_LABELS: usize = 32;

/// Maximum size of a review; the gate refuses bodies above 7 MiB.
const LARGEST_FILE: u64 = 16 << 20;

// === impl Script ===

impl Script {
    /// Reads the reviews of files, in order. In a folder, files `*.json` that are not AdmissionReviews are skipped and counted.
    ///
    /// # Errors
    /// A named file cannot be read or is not an AdmissionReview, or a folder contains none.
    pub(crate) fn of_files(
        named: &[PathBuf],
        any_uid: bool,
        expect: Expect,
    ) -> Result<(Self, usize)> {
        let mut script = Self {
            labels: Vec::new(),
            reviews: Vec::new(),
            order: Vec::new(),
        };
        let mut passed_over = 0;
        for path in named {
            if !path.is_dir() {
                let body = read(path)?;
                let asked = asked(&body).with_context(|| {
                    format!(
                        "--body {}: not an AdmissionReview with a request.uid{}",
                        path.display(),
                        if any_uid {
                            ""
                        } else {
                            "; with --any-uid none is required"
                        }
                    )
                });
                let asked = match asked {
                    Err(_) if any_uid => Asked::default(),
                    other => other?,
                };
                script.push(path, body, asked, any_uid, expect);
                continue;
            }
            let before = script.reviews.len();
            for file in json_files(path)? {
                let body = read(&file)?;
                match asked(&body) {
                    Ok(asked) => script.push(&file, body, asked, any_uid, expect),
                    Err(_) => passed_over += 1,
                }
            }
            ensure!(
                script.reviews.len() > before,
                "--body {}: no file *.json in this folder holds an AdmissionReview with a request",
                path.display()
            );
        }
        Ok((script, passed_over))
    }

    fn push(&mut self, path: &Path, body: Vec<u8>, asked: Asked, any_uid: bool, expect: Expect) {
        let file = path.file_name().unwrap_or(path.as_os_str());
        let mut label = file.to_string_lossy().into_owned();
        let path = asked.path(label.ends_with(".mutate.json"));
        let at = self.labels.iter().position(|other| *other == label);
        let label = at.unwrap_or_else(|| {
            if self.labels.len() >= MOST_LABELS {
                return MOST_LABELS - 1;
            }
            if self.labels.len() == MOST_LABELS - 1 {
                label = "all other files".into();
            }
            self.labels.push(label);
            self.labels.len() - 1
        });
        let uid = match asked.request {
            Some(request) if !any_uid => Uid::Of(request.uid),
            _ => Uid::Any,
        };
        self.order
            .push(u32::try_from(self.reviews.len()).unwrap_or(0));
        self.reviews.push(Review {
            label,
            path,
            body,
            uid,
            expect,
        });
    }

    /// Keeps only the reviews of this path, if any, for an address with the path of a webhook.
    pub(crate) fn only_for(mut self, path: &str) -> Self {
        let reviews = &self.reviews;
        let fits = |i: &u32| reviews[*i as usize].path == path;
        if self.order.iter().any(fits) {
            self.order.retain(fits);
        }
        self
    }

    pub(crate) fn review(&self, number: u64) -> (usize, &Review) {
        // The order is never empty, and the remainder is less than its length.
        let index = self.order[(number % self.order.len() as u64) as usize] as usize;
        (index, &self.reviews[index])
    }
}

#[derive(Default, Deserialize)]
struct Asked {
    request: Option<Request>,
}

#[derive(Deserialize)]
struct Request {
    uid: String,
    #[serde(default)]
    resource: Resource,
}

#[derive(Default, Deserialize)]
struct Resource {
    #[serde(default)]
    resource: String,
}

impl Asked {
    fn path(&self, mutates: bool) -> &'static str {
        let resource = self
            .request
            .as_ref()
            .map_or("", |request| request.resource.resource.as_str());
        match resource {
            "managedclustersets" => paths::VALIDATE_SET,
            "managedclustersetbindings" => paths::VALIDATE_BINDING,
            _ if mutates => paths::MUTATE_CLUSTER,
            _ => paths::VALIDATE_CLUSTER,
        }
    }
}

fn asked(body: &[u8]) -> Result<Asked> {
    let asked: Asked = serde_json::from_slice(body)?;
    ensure!(asked.request.is_some(), "it has no request");
    Ok(asked)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let named = || format!("cannot read --body {}", path.display());
    let size = fs::metadata(path).with_context(named)?.len();
    ensure!(
        size <= LARGEST_FILE,
        "--body {}: {size} bytes, more than {LARGEST_FILE}",
        path.display()
    );
    fs::read(path).with_context(named)
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let named = || format!("cannot read --body {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(named)? {
        let file = entry.with_context(named)?.path();
        if file.is_file()
            && file
                .extension()
                .is_some_and(|extension| extension == "json")
        {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/data/reviews")
            .join(name)
    }

    #[test]
    fn a_recorded_review_goes_to_the_path_that_it_was_sent_to() {
        let rows = [
            ("accept-alice-denied.mutate.json", paths::MUTATE_CLUSTER),
            ("accept-alice-denied.validate.json", paths::VALIDATE_CLUSTER),
            ("bind-set-a-alice.validate.json", paths::VALIDATE_BINDING),
            ("set-selector-bad-operator.record.json", paths::VALIDATE_SET),
        ];
        for (file, path) in rows {
            let (script, _) = Script::of_files(&[recorded(file)], false, Expect::Allowed).unwrap();
            let review = &script.reviews[0];
            assert_eq!(review.path, path, "{file}");
            assert!(matches!(&review.uid, Uid::Of(uid) if uid.len() == 36));
            assert_eq!(review.body, fs::read(recorded(file)).unwrap(), "{file}");
        }
    }

    #[test]
    fn of_a_folder_what_is_no_review_is_passed_over() {
        let (script, passed_over) = Script::of_files(&[recorded("")], false, Expect::Any).unwrap();
        assert!(passed_over > 20, "the folder contains responses, too");
        assert!(script.reviews.len() > MOST_LABELS);
        assert_eq!(script.order.len(), script.reviews.len());
        assert_eq!(script.labels.len(), MOST_LABELS);
        assert_eq!(script.labels[MOST_LABELS - 1], "all other files");
        assert!(script.reviews.iter().all(|r| r.label < MOST_LABELS));
        let some = script.order.len();
        let bindings = script.clone().only_for(paths::VALIDATE_BINDING);
        assert!((1..some).contains(&bindings.order.len()));
        assert_eq!(script.only_for("/elsewhere").order.len(), some);
    }

    #[test]
    fn what_cannot_be_sent_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain.json");
        fs::write(&plain, "{}").unwrap();
        let rows = [
            (plain.clone(), "not an AdmissionReview with a request.uid"),
            (folder.path().join("none.json"), "cannot read --body"),
            (folder.path().to_owned(), "no file *.json in this folder"),
        ];
        for (path, reason) in rows {
            let error = Script::of_files(std::slice::from_ref(&path), false, Expect::Any);
            let error = format!("{:#}", error.unwrap_err());
            assert!(error.contains(reason), "{}: {error}", path.display());
        }
        let (script, _) = Script::of_files(&[plain], true, Expect::Any).unwrap();
        assert_eq!(script.reviews[0].uid, Uid::Any, "--any-uid sends anything");
    }
}
