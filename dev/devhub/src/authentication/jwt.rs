//! JSON Web Tokens, signed with one key and one algorithm (ES256). All other tokens are invalid.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::error::Unspecified;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
    UnparsedPublicKey,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Longer tokens are not looked at. The longest that devhub makes has less than 2 KiB, unless a client requests very many
/// audiences.
const MAX_LENGTH: usize = 64 * 1024;

/// The key.
#[derive(Debug)]
pub(super) struct Key {
    pair: EcdsaKeyPair,
    id: String,
}

impl Key {
    /// A new key.
    pub(super) fn generate() -> Result<Self, Unspecified> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random)?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random)
            .map_err(|_| Unspecified)?;
        let digest = ring::digest::digest(&ring::digest::SHA256, pair.public_key().as_ref());
        let id = BASE64_URL_SAFE_NO_PAD.encode(digest);
        Ok(Self { pair, id })
    }

    /// The claims, signed.
    pub(super) fn sign(&self, claims: &impl Serialize) -> Result<String, Unspecified> {
        let header = json!({ "alg": "ES256", "kid": self.id });
        let claims = serde_json::to_vec(claims).map_err(|_| Unspecified)?;
        let mut token = BASE64_URL_SAFE_NO_PAD.encode(header.to_string());
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(claims, &mut token);
        let signature = self.pair.sign(&SystemRandom::new(), token.as_bytes())?;
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }

    /// The claims of a token, if this key signed it.
    pub(super) fn open<C: DeserializeOwned>(&self, token: &str) -> Option<C> {
        if token.len() > MAX_LENGTH {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header: Value = serde_json::from_slice(&decode(header)?).ok()?;
        if header["alg"] != "ES256" {
            return None;
        }
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key());
        key.verify(signed.as_bytes(), &decode(signature)?).ok()?;
        serde_json::from_slice(&decode(claims)?).ok()
    }
}

fn decode(part: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(part).ok()
}
