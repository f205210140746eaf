//! The image of Berth's components.

use crate::failure::CommandError;

/// The image of this release. A build that is no release has none. The workflow of releases sets the variable.
pub(crate) const OF_THIS_RELEASE: Option<&str> = match option_env!("BERTH_IMAGE") {
    Some(image) if !image.is_empty() => Some(image),
    _ => None,
};

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

/// # Errors
/// The text cannot be a reference of an image. The nodes would say so much later.
fn checked(image: &str) -> Result<String, CommandError> {
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
    fn what_no_image_is_called_is_refused() {
        for image in ["", "a b", "https://r/berth", "/berth", ":v1", "é", "a\n"] {
            let error = named(Some(image), None).unwrap_err().to_string();
            assert!(error.contains("is not the name of an image"), "{error}");
        }
    }
}
