//! Flags with lists: `--gc-resource-list`, `--labels`, and lists of names.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{bail, ensure};
use berth_api::GroupVersionResource;
use berth_api::{labels, names};

/// The default of `--gc-resource-list`, as in OCM.
const DEFAULT_GC_RESOURCES: [&str; 2] = [
    "addon.open-cluster-management.io/v1beta1/managedclusteraddons",
    "work.open-cluster-management.io/v1/manifestworks",
];

/// Returns the entries of a repeatable flag whose values are lists.
pub(super) fn entries(values: &[String]) -> impl Iterator<Item = &str> {
    let entries = values.iter().flat_map(|value| value.split(','));
    entries.map(str::trim).filter(|entry| !entry.is_empty())
}

/// Returns the names in a list.
pub(super) fn set(values: &[String]) -> BTreeSet<String> {
    entries(values).map(str::to_owned).collect()
}

/// Parses `--gc-resource-list`, in its order. Without the flag, returns the default.
///
/// # Errors
/// An entry is not `group/version/resource`, or is a duplicate.
pub(super) fn gc_resources(flag: Option<&[String]>) -> anyhow::Result<Vec<GroupVersionResource>> {
    let default = DEFAULT_GC_RESOURCES.map(str::to_owned);
    let mut resources = Vec::new();
    for entry in entries(flag.unwrap_or(&default)) {
        let resource = gc_resource(entry)?;
        ensure!(
            !resources.contains(&resource),
            "--gc-resource-list: duplicate entry {entry:?}"
        );
        resources.push(resource);
    }
    Ok(resources)
}

fn gc_resource(entry: &str) -> anyhow::Result<GroupVersionResource> {
    let parts: Vec<_> = entry.split('/').collect();
    let [group, version, resource] = parts[..] else {
        bail!(
            "--gc-resource-list: {entry:?} is not of the form group/version/resource, such as {:?}; for the core group \
             leave the group empty, as in \"/v1/configmaps\"",
            DEFAULT_GC_RESOURCES[1]
        );
    };
    ensure!(
        group.is_empty() || names::is_dns1123_subdomain(group),
        "--gc-resource-list: {entry:?}: {group:?} is not a valid API group"
    );
    ensure!(
        is_version(version),
        "--gc-resource-list: {entry:?}: {version:?} is not a valid API version, such as v1 or v1beta1"
    );
    ensure!(
        names::is_dns1123_label(resource),
        "--gc-resource-list: {entry:?}: {resource:?} is not a valid resource: use the plural name in lower case, such as manifestworks"
    );
    Ok(GroupVersionResource {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: resource.to_owned(),
    })
}

/// Returns true for versions such as `v1` and `v1beta1`.
fn is_version(version: &str) -> bool {
    let is_number = |text: &str| {
        !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let Some(rest) = version.strip_prefix('v') else {
        return false;
    };
    ["alpha", "beta"]
        .into_iter()
        .find_map(|stage| rest.split_once(stage))
        .map_or(is_number(rest), |(major, minor)| {
            is_number(major) && is_number(minor)
        })
}

/// Parses `--labels`: `key=value,...`. If a key occurs twice, the later value counts.
///
/// # Errors
/// An entry is not a valid label, or has a key that Berth sets itself.
pub(super) fn labels(values: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    for entry in entries(values) {
        let Some((key, value)) = entry.split_once('=') else {
            bail!("--labels: {entry:?} is not of the form key=value");
        };
        let (key, value) = (key.trim(), value.trim());
        let problems = [names::qualified_name(key), names::label_value(value)].concat();
        ensure!(
            problems.is_empty(),
            "--labels: {entry:?}: {}",
            problems.join("; ")
        );
        ensure!(
            key != labels::CLUSTER_NAME && key != labels::ADDON_NAME,
            "--labels: {entry:?}: Berth sets the label {key} itself"
        );
        labels.insert(key.to_owned(), value.to_owned());
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(values: &[&str]) -> Vec<String> {
        values.iter().map(ToString::to_string).collect()
    }

    fn gc(values: Option<&[&str]>) -> Result<Vec<String>, String> {
        let values = values.map(strings);
        let resources = gc_resources(values.as_deref()).map_err(|error| error.to_string())?;
        let resources = resources.iter();
        Ok(resources
            .map(|it| format!("{}/{}/{}", it.group, it.version, it.resource))
            .collect())
    }

    #[test]
    fn what_is_deleted_keeps_its_order() {
        assert_eq!(gc(None), Ok(strings(&DEFAULT_GC_RESOURCES)));
        assert_eq!(gc(Some(&[""])), Ok(vec![]), "nothing at all");
        let both = ["b.io/v1alpha2/bs", "a/v2/as"];
        assert_eq!(gc(Some(&both)), Ok(strings(&both)), "repeated");
        assert_eq!(
            gc(Some(&["b.io/v1alpha2/bs, a/v2/as,"])),
            Ok(strings(&both))
        );
        assert_eq!(
            gc(Some(&["/v1/configmaps"])),
            Ok(strings(&["/v1/configmaps"]))
        );
    }

    #[test]
    fn an_entry_that_names_no_resource_is_named() {
        for (entry, says) in [
            ("manifestworks", "\"manifestworks\" is not of the form"),
            ("v1/configmaps", "\"/v1/configmaps\""),
            ("a/v1/bs/status", "is not of the form"),
            ("A/v1/bs", "\"A\" is not a valid API group"),
            ("a/1/bs", "\"1\" is not a valid API version"),
            ("a/v01/bs", "\"v01\" is not a valid API version"),
            ("a/v1beta/bs", "\"v1beta\" is not a valid API version"),
            ("a/v1gamma1/bs", "\"v1gamma1\" is not a valid API version"),
            ("a/v/bs", "\"v\" is not a valid API version"),
            ("a/v1/Bs", "\"Bs\" is not a valid resource"),
            ("a/v1/", "\"\" is not a valid resource"),
            ("a/v1/b s", "\"b s\" is not a valid resource"),
        ] {
            let error = gc(Some(&["good/v1/ones", entry])).unwrap_err();
            assert!(error.contains(says), "{entry}: {error}");
            assert!(error.starts_with("--gc-resource-list: "), "{error}");
        }
        let twice = gc(Some(&["a/v1/bs,a/v1/bs"])).unwrap_err();
        assert_eq!(twice, "--gc-resource-list: duplicate entry \"a/v1/bs\"");
    }

    #[test]
    fn labels_are_labels_and_not_ours() {
        let read = |values: &[&str]| labels(&strings(values)).map_err(|error| error.to_string());
        let expected = [("a", "2"), ("b.io/c", ""), ("d", "e")];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(
            read(&["a=1, b.io/c=", "d=e,a=2"]),
            Ok(BTreeMap::from(expected))
        );
        assert_eq!(read(&[""]), Ok(BTreeMap::new()));
        for (entry, says) in [
            ("a", "\"a\" is not of the form key=value"),
            ("=b", "name part must be non-empty"),
            ("a=b=c", "\"a=b=c\": "),
            ("a=b c", "\"a=b c\": "),
            (
                "open-cluster-management.io/cluster-name=x",
                "Berth sets the label",
            ),
            (
                "open-cluster-management.io/addon-name=x",
                "Berth sets the label",
            ),
        ] {
            let error = read(&[entry]).unwrap_err();
            assert!(error.contains(says), "{entry}: {error}");
        }
    }
}
