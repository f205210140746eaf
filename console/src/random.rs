//! Secrets of random bytes.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};

use crate::sessions::Secret;

/// Returns a secret of this many random bytes, as text for URLs and cookies.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn random(bytes: usize) -> anyhow::Result<Secret> {
    let mut random = vec![0; bytes];
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| anyhow::anyhow!("the system has no random numbers"))?;
    Ok(Secret::new(BASE64_URL_SAFE_NO_PAD.encode(random)))
}
