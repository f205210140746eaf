//! Other registries for images.

use berth_api::addon::ImageMirror;
use serde::Deserialize;

/// The registries for images: those of the config, or else those of the cluster's annotation.
///
/// # Errors
/// The annotation decides and is not JSON as OCM documents it. To go on without the registries would take images from elsewhere.
pub(super) fn mirrors(
    config: &[ImageMirror],
    annotation: Option<&str>,
) -> Result<Vec<ImageMirror>, String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Annotation {
        registries: Option<Vec<ImageMirror>>,
    }
    if !config.is_empty() {
        return Ok(config.to_vec());
    }
    match annotation {
        None | Some("") => Ok(Vec::new()),
        Some(json) => match serde_json::from_str::<Annotation>(json) {
            Ok(annotation) => Ok(annotation.registries.unwrap_or_default()),
            Err(error) => Err(format!(
                "the annotation open-cluster-management.io/image-registries of the ManagedCluster cannot be read: {error}"
            )),
        },
    }
}

/// Returns the name of an image in another registry. The last registry that matches counts, and an image that none matches keeps its name.
///
/// As in OCM, a source matches any beginning of a name, also within a part of it.
pub(super) fn in_mirror(mirrors: &[ImageMirror], image: &str) -> Option<String> {
    let mut mirrors = mirrors.iter().rev();
    mirrors.find_map(|mirror| {
        let source = mirror.source.strip_suffix('/').unwrap_or(&mirror.source);
        let target = mirror.mirror.strip_suffix('/').unwrap_or(&mirror.mirror);
        let name = if source.is_empty() {
            let last = image.rsplit('/').next().unwrap_or(image);
            match target {
                "" => last.to_owned(),
                target => format!("{target}/{last}"),
            }
        } else {
            format!("{target}{}", image.strip_prefix(source)?)
        };
        (name != image).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirror(source: &str, mirror: &str) -> ImageMirror {
        ImageMirror {
            mirror: mirror.to_owned(),
            source: source.to_owned(),
        }
    }

    #[test]
    fn the_last_registry_that_matches_replaces_the_beginning() {
        let o = mirror("quay.io/o", "m/x");
        let p = mirror("quay.io/o/p", "m/y");
        for (sentence, mirrors, image, expected) in [
            ("spec 33", vec![o.clone()], "quay.io/o/a:1", Some("m/x/a:1")),
            (
                "the last one counts",
                vec![p.clone(), o.clone()],
                "quay.io/o/p/a:1",
                Some("m/x/p/a:1"),
            ),
            (
                "one that does not match does not count",
                vec![o.clone(), p],
                "quay.io/o/a:1",
                Some("m/x/a:1"),
            ),
            ("no match", vec![o], "docker.io/a", None),
            ("no registries", vec![], "quay.io/o/a", None),
            (
                "without source, the last part stays",
                vec![mirror("", "m/x/")],
                "quay.io/o/a@sha256:0",
                Some("m/x/a@sha256:0"),
            ),
            (
                "without both, only the last part stays",
                vec![mirror("", "")],
                "quay.io/o/a",
                Some("a"),
            ),
            (
                "a slash at the end makes no difference",
                vec![mirror("quay.io/o/", "m/x/")],
                "quay.io/o/a",
                Some("m/x/a"),
            ),
        ] {
            let found = in_mirror(&mirrors, image);
            assert_eq!(found.as_deref(), expected, "{sentence}");
        }
    }

    #[test]
    fn the_registries_of_the_config_beat_those_of_the_annotation() {
        let config = [mirror("a", "b")];
        let json = r#"{"registries":[{"source":"c","mirror":"d"}]}"#;
        for (config, annotation, expected) in [
            (&config[..], Some(json), vec![mirror("a", "b")]),
            (&config[..], Some("broken"), vec![mirror("a", "b")]),
            (&[], Some(json), vec![mirror("c", "d")]),
            (&[], Some(r#"{"registries":null}"#), vec![]),
            (&[], Some("{}"), vec![]),
            (&[], Some(""), vec![]),
            (&[], None, vec![]),
        ] {
            assert_eq!(
                mirrors(config, annotation),
                Ok(expected),
                "{config:?} {annotation:?}"
            );
        }
        let error = mirrors(&[], Some("broken")).unwrap_err();
        assert!(
            error.contains("image-registries of the ManagedCluster cannot be read: expected value")
        );
    }
}
