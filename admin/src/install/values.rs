//! What a hub is installed with: the values of the chart, from `--values` and flags. They are kept in a ConfigMap of the hub's namespace,
//! so that `berth upgrade` and a later `berth init` have the same ones.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use berth_manifests::values::{Console, HubValues, Image};
use berth_manifests::{HUB_NAMESPACE, Hub, Mode};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Map, Value, json};

use crate::failure::CommandError;
use crate::hub::{HubConnection, title};
use crate::image;

/// Byte bound of a file. A ConfigMap holds 1 MiB.
const LONGEST: u64 = 256 << 10;
/// The ConfigMap with the values of a hub.
const KEPT: &str = "berth-values";
const KEY: &str = "values.yaml";

/// Values as users write them: only what is set.
pub(super) type Given = Map<String, Value>;

/// What is installed.
pub(super) struct Chosen {
    given: Given,
    values: HubValues,
    image: String,
}

/// Reads the files of `--values`; what a later one sets wins. `None` without a file.
///
/// # Errors
/// A file cannot be read, or has a value that does not exist. The error names the file and the value.
pub(super) fn read(files: &[PathBuf]) -> anyhow::Result<Option<Given>> {
    let mut all: Option<Given> = None;
    for file in files {
        let name = format!("--values {}", file.display());
        let text = text(file).with_context(|| name.clone())?;
        let given = parsed(&text).with_context(|| name.clone())?;
        typed(&given).with_context(|| name)?;
        merge_all(all.get_or_insert_default(), given);
    }
    Ok(all)
}

fn text(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let source: Box<dyn Read> = match file.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(File::open(file)?),
    };
    if source.take(LONGEST + 1).read_to_string(&mut text)? as u64 > LONGEST {
        bail!("the values have more than {LONGEST} bytes");
    }
    Ok(text)
}

/// Returns the values of a text. As in Helm, a value that is null is one that is not set.
fn parsed(text: &str) -> anyhow::Result<Given> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
    let mut documents = documents.into_iter().filter(|it| !it.is_null());
    let given = documents.next().unwrap_or_else(|| json!({}));
    if documents.next().is_some() {
        bail!("the values are several documents; they must be one");
    }
    match without_nulls(given) {
        Value::Object(given) => Ok(given),
        other => bail!("the values must be a map, such as mode: hub, and are {other}"),
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let set = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                set.map(|(key, value)| (key, without_nulls(value)))
                    .collect(),
            )
        }
        other => other,
    }
}

/// Merges maps key by key. Everything else is replaced, lists too.
pub(super) fn merge_all(into: &mut Given, values: Given) {
    for (key, value) in values {
        merge(into, key, value);
    }
}

fn merge(into: &mut Given, key: String, value: Value) {
    match (into.get_mut(&key), value) {
        (Some(Value::Object(into)), Value::Object(value)) => {
            merge_all(into, value);
        }
        (_, value) => {
            into.insert(key, value);
        }
    }
}

fn typed(given: &Given) -> anyhow::Result<HubValues> {
    let values = Value::Object(given.clone());
    serde_path_to_error::deserialize(values).map_err(|error| {
        let at = error.path().to_string();
        let why = error.into_inner();
        match at.as_str() {
            "." => anyhow::anyhow!("{why}"),
            _ => anyhow::anyhow!("{at}: {why}"),
        }
    })
}

/// Returns what is installed now, and what was before: with the values of the files, or else with those that the hub keeps, and with those
/// of flags.
///
/// # Errors
/// What is chosen is wrong, or what the hub keeps cannot be read.
pub(super) async fn choose(
    hub: &HubConnection,
    given: Option<Given>,
    flags: Given,
    mode: Option<Mode>,
    image: Option<&str>,
) -> anyhow::Result<(Chosen, Option<Chosen>)> {
    let kept = hub
        .get_value::<ConfigMap>(Some(HUB_NAMESPACE), KEPT)
        .await?;
    let kept = kept.map(|it| parsed(it["data"][KEY].as_str().unwrap_or_default()));
    let mut given = match (given, &kept) {
        (Some(given), _) => given,
        (None, Some(Ok(kept))) => kept.clone(),
        (None, Some(Err(failure))) => bail!(CommandError::Config(format!(
            "ConfigMap {KEPT} in namespace {HUB_NAMESPACE}: {failure:#}; --values replaces it"
        ))),
        (None, None) => Given::new(),
    };
    merge_all(&mut given, flags);
    let chosen = Chosen::of(given, mode, image)?;
    // What a former version took may be refused today. Then it is not known what it installed.
    let before = kept.and_then(Result::ok).and_then(|kept| {
        let mode = Some(chosen.mode()).filter(|_| !kept.contains_key("mode"));
        Chosen::of(kept, mode, Some(chosen.image())).ok()
    });
    Ok((chosen, before))
}

// === impl Chosen ===

impl Chosen {
    /// Puts together what is installed. `mode` and `image` are flags, or what is installed already.
    ///
    /// # Errors
    /// A value does not exist or contradicts another, a flag contradicts one, or no image is named.
    pub(super) fn of(
        given: Given,
        mode: Option<Mode>,
        image: Option<&str>,
    ) -> anyhow::Result<Self> {
        let mut values = typed(&given)?;
        if let Some(mode) = mode {
            if given.contains_key("mode") && values.mode != mode {
                let (flag, value) = (mode.name(), values.mode.name());
                bail!("mode {flag} contradicts the values, which have mode: {value}");
            }
            values.mode = mode;
        }
        let mut wrong = values.contradictions();
        wrong.extend(values.only_in_the_chart());
        if !wrong.is_empty() {
            bail!(CommandError::Config(wrong.join("\n  ")));
        }
        let named = match image {
            Some(image) => Some(image.to_owned()),
            None => name_an_image(&given).then(|| put_together(&values.image)),
        };
        let image = image::of(named.as_deref())?;
        Ok(Self {
            given,
            values,
            image,
        })
    }

    pub(super) fn mode(&self) -> Mode {
        self.values.mode
    }

    pub(super) fn image(&self) -> &str {
        &self.image
    }

    /// Returns the values of the console if it is installed.
    pub(super) fn console(&self) -> Option<&Console> {
        Some(&self.values.console).filter(|it| it.enabled)
    }

    /// Returns the image if flags or values name it.
    pub(super) fn named_image(&self) -> Option<&str> {
        (Some(self.image.as_str()) != image::OF_THIS_RELEASE).then_some(&self.image)
    }

    /// Returns the objects, in the order in which they are installed.
    pub(super) fn objects(&self) -> Vec<Value> {
        let mut hub = Hub::with(&self.values, &self.image);
        if !self.given.is_empty() {
            hub.foundation.push(to_keep(&self.given));
        }
        hub.objects().cloned().collect()
    }

    /// Returns the objects of these values that others lack, registrations first. Definitions and namespaces stay: they hold what is not
    /// Berth's.
    pub(super) fn objects_beyond(&self, others: &[Value]) -> Vec<Value> {
        let key = |object: &Value| (title(object), object["metadata"]["namespace"].clone());
        let kept: Vec<_> = others.iter().map(key).collect();
        let stays = |object: &Value| {
            let kind = &object["kind"];
            kind == "CustomResourceDefinition" || kind == "Namespace"
        };
        let mut beyond = self.objects();
        beyond.retain(|object| !stays(object) && !kept.contains(&key(object)));
        beyond.reverse();
        // The values go last: without them, a command that runs again after an interruption would not know what has to go.
        beyond.sort_by_key(is_kept);
        beyond
    }
}

/// Returns true for the ConfigMap of the values.
pub(super) fn is_kept(object: &Value) -> bool {
    object["kind"] == "ConfigMap" && object["metadata"]["name"] == KEPT
}

/// The ConfigMap of values.
pub(super) fn to_keep(given: &Given) -> Value {
    let text = serde_saphyr::to_string(given).unwrap_or_default();
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": KEPT,
            "namespace": HUB_NAMESPACE,
            "labels": {
                "app.kubernetes.io/name": "berth",
                "app.kubernetes.io/component": "values",
                "app.kubernetes.io/part-of": "open-cluster-management",
            },
        },
        "data": {KEY: text},
    })
}

/// Returns true if an image is named, and not only how it is pulled.
pub(super) fn name_an_image(given: &Given) -> bool {
    let parts = given.get("image").and_then(Value::as_object);
    let mut parts = parts.into_iter().flat_map(Map::keys);
    parts.any(|it| it != "pullPolicy")
}

/// The image of the values, as the chart puts it together.
fn put_together(image: &Image) -> String {
    let Image {
        registry,
        repository,
        tag,
        digest,
        ..
    } = image;
    let slash = if registry.is_empty() { "" } else { "/" };
    let at = if digest.is_empty() { "" } else { "@" };
    let tag = match tag.as_str() {
        "" => concat!("v", env!("CARGO_PKG_VERSION")),
        tag => tag,
    };
    format!("{registry}{slash}{repository}:{tag}{at}{digest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(value: Value) -> Given {
        value.as_object().unwrap().clone()
    }

    fn chosen(value: Value) -> Chosen {
        Chosen::of(given(value), None, Some("r/berth:v9")).unwrap()
    }

    #[test]
    fn a_later_file_wins_and_null_is_not_set() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let first = file(
            "a.yaml",
            "mode: hub\ngate:\n  replicas: 2\n  extraArgs: [--v=2, --v=3]\n",
        );
        let second = file(
            "b.yaml",
            "gate:\n  replicas: null\n  extraArgs: [--v=4]\n  priorityClassName: high\nimage:\n",
        );
        let all = read(&[first, second]).unwrap().unwrap();
        let expected = json!({
            "mode": "hub",
            "gate": {"replicas": 2, "extraArgs": ["--v=4"], "priorityClassName": "high"},
        });
        assert_eq!(Value::Object(all), expected);
        let empty = file("c.yaml", "# all defaults\n");
        assert_eq!(read(&[empty]).unwrap(), Some(Given::new()));
        assert_eq!(read(&[]).unwrap(), None);
        for (text, words) in [
            ("mod: hub\n", "unknown field `mod`"),
            (
                "gate:\n  resources:\n    limit: {}\n",
                "gate.resources.limit: unknown field `limit`",
            ),
            ("gate:\n  replicas: -1\n", "gate.replicas: invalid value"),
            ("mode: webhook\n", "mode: unknown variant `webhook`"),
            ("- mode\n", "the values must be a map"),
            ("mode: hub\n---\nmode: hub\n", "several documents"),
            ("mode: [\n", "d.yaml: "),
        ] {
            let path = file("d.yaml", text);
            let error = format!("{:#}", read(&[path]).unwrap_err());
            assert!(error.contains(words), "{text}: {error}");
            assert!(error.starts_with("--values "), "{error}");
        }
        let long = file("e.yaml", &"#".repeat(LONGEST as usize + 1));
        let error = format!("{:#}", read(&[long]).unwrap_err());
        assert!(error.contains("more than 262144 bytes"), "{error}");
    }

    #[test]
    fn what_contradicts_is_refused() {
        let error = |value: Value, mode: Option<Mode>| {
            let chosen = Chosen::of(given(value), mode, Some("x"));
            format!("{:#}", chosen.err().expect("it is refused"))
        };
        assert_eq!(
            error(json!({"mode": "hub"}), Some(Mode::Webhooks)),
            "mode webhooks contradicts the values, which have mode: hub"
        );
        assert!(error(json!({"ocmNames": true}), None).starts_with("ocmNames: only with Helm"));
        let both = error(json!({"gate": {"replicas": 2}}), Some(Mode::Policies));
        assert!(
            both.starts_with("gate.replicas is for the gate's Deployment"),
            "{both}"
        );
    }

    #[test]
    fn the_image_is_put_together_as_in_the_chart() {
        let v = env!("CARGO_PKG_VERSION");
        for (image, expected) in [
            (json!({"registry": "r.io"}), format!("r.io/berth:v{v}")),
            (
                json!({"repository": "me/berth", "tag": "x"}),
                "me/berth:x".to_owned(),
            ),
            (
                json!({"registry": "r", "tag": "x", "digest": format!("sha256:{}", "a".repeat(64))}),
                format!("r/berth:x@sha256:{}", "a".repeat(64)),
            ),
        ] {
            let chosen = Chosen::of(given(json!({ "image": image })), None, None).unwrap();
            assert_eq!(chosen.image(), expected);
        }
        // A flag wins over what was kept.
        let chosen = chosen(json!({"image": {"tag": "x"}}));
        assert_eq!(chosen.image(), "r/berth:v9");
    }

    #[test]
    fn what_the_new_values_lack_goes_and_the_fleet_stays() {
        let before = chosen(json!({
            "networkPolicies": {"enabled": true},
            "autoApproval": {"users": ["a"]},
            "clusterProfiles": {"enabled": true},
            "bootstrap": {"enabled": true},
        }));
        let after =
            chosen(json!({"registrations": {"enabled": false}, "crds": {"enabled": false}}));
        let titles = |it: Vec<Value>| -> Vec<String> { it.iter().map(title).collect() };
        let gone = titles(before.objects_beyond(&after.objects()));
        assert!(gone[0].contains("webhookconfiguration/"), "{gone:?}");
        let role =
            "clusterrole/open-cluster-management:berth-registration:auto-approval".to_owned();
        assert!(gone.contains(&role), "{gone:?}");
        let network = "networkpolicy/berth-registration-controller".to_owned();
        assert!(gone.contains(&network), "{gone:?}");
        for title in &gone {
            assert!(!title.starts_with("customresourcedefinition/"), "{title}");
            assert!(!title.starts_with("namespace/"), "{title}");
            assert!(!title.starts_with("deployment/"), "{title}");
        }
        assert_eq!(titles(before.objects_beyond(&before.objects())), [""; 0]);
        let reset = chosen(json!({}));
        let gone = titles(after.objects_beyond(&reset.objects()));
        assert_eq!(gone, ["configmap/berth-values"]);
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let chosen = chosen(json!({"mode": "hub", "gate": {"extraArgs": ["--v=4"]}}));
        let object = to_keep(&chosen.given);
        let again = parsed(object["data"][KEY].as_str().unwrap()).unwrap();
        assert_eq!(again, chosen.given);
        assert!(chosen.objects().contains(&object));
    }
}
