//! The image of Berth's components.

use crate::failure::CommandError;

/// The image of this release. A build that is no release has none. The workflow of releases sets the variable.
pub(crate) const OF_THIS_RELEASE: Option<&str> = match option_env!("BERTH_IMAGE") {
    Some(image) if !image.is_empty() => Some(image),
    _ => None,
};

/// The parts of an image's name, as the values of the charts have them. A part that is missing is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) registry: &'a str,
    pub(crate) repository: &'a str,
    pub(crate) tag: &'a str,
    pub(crate) digest: &'a str,
}

impl<'a> Reference<'a> {
    /// Splits the name of an image, as runtimes do: what is before the first slash is a registry if it has a dot or a port, or is localhost.
    pub(crate) fn of(image: &'a str) -> Self {
        let (name, digest) = image.split_once('@').unwrap_or((image, ""));
        let is_registry = |host: &&str| host.contains(['.', ':']) || *host == "localhost";
        let (registry, name) = match name.split_once('/') {
            Some((host, rest)) if is_registry(&host) => (host, rest),
            _ => ("", name),
        };
        let (repository, tag) = name.split_once(':').unwrap_or((name, ""));
        Self {
            registry,
            repository,
            tag,
            digest,
        }
    }
}

/// Returns the image that the flag names, or that of this release.
///
/// # Errors
/// There is neither.
pub(crate) fn of(flag: Option<&str>) -> Result<String, CommandError> {
    named(flag, OF_THIS_RELEASE)
}

fn named(flag: Option<&str>, release: Option<&str>) -> Result<String, CommandError> {
    match flag.or(release) {
        Some(image) => checked(image),
        None => Err(CommandError::Config(
            "this build of berth is no release, so it has no image: name one by --image, such as --image registry.example.com/berth:v1"
                .to_owned(),
        )),
    }
}

/// Returns the image that a flag names.
///
/// # Errors
/// The text cannot be a reference of an image. The nodes would say so much later.
pub(crate) fn checked(image: &str) -> Result<String, CommandError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:/@".contains(&byte);
    let is_image = !image.is_empty() && image.len() <= 512 && image.bytes().all(is_plain);
    if is_image && !image.contains("//") && !image.starts_with(['/', ':', '@']) {
        return Ok(image.to_owned());
    }
    Err(CommandError::Config(format!(
        "--image {image:?} is not the name of an image, such as registry.example.com/berth:v1"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_and_without_a_release_it_is_needed() {
        let release = Some("r/berth:v1@sha256:abc");
        assert_eq!(named(None, release).unwrap(), "r/berth:v1@sha256:abc");
        assert_eq!(named(Some("mine"), release).unwrap(), "mine");
        let error = named(None, None).unwrap_err().to_string();
        assert!(error.contains("name one by --image"), "{error}");
    }

    #[test]
    fn the_parts_of_an_image_are_those_of_runtimes() {
        for (image, parts) in [
            ("berth", ["", "berth", "", ""]),
            ("berth:dev", ["", "berth", "dev", ""]),
            ("me/berth:v1", ["", "me/berth", "v1", ""]),
            ("localhost/berth", ["localhost", "berth", "", ""]),
            ("r:5000/a/berth", ["r:5000", "a/berth", "", ""]),
            (
                "quay.io/me/berth:v1@sha256:abc",
                ["quay.io", "me/berth", "v1", "sha256:abc"],
            ),
        ] {
            let Reference {
                registry,
                repository,
                tag,
                digest,
            } = Reference::of(image);
            assert_eq!([registry, repository, tag, digest], parts, "{image}");
        }
    }

    #[test]
    fn what_no_image_is_called_is_refused() {
        for image in ["", "a b", "https://r/berth", "/berth", ":v1", "é", "a\n"] {
            let error = named(Some(image), None).unwrap_err().to_string();
            assert!(error.contains("is not the name of an image"), "{error}");
        }
    }
}
