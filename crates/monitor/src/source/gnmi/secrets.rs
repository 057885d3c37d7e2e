//! What a device and this machine prove to each other: certificates, users and passwords. None of it is ever shown.

use linkmend_diagnose::ParameterError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

/// The largest file that is read.
const FILE_BYTES_MOST: u64 = 1 << 20;
/// The protocol that gRPC speaks within TLS.
const PROTOCOL: &[u8] = b"h2";

/// A user and a password.
#[derive(Clone)]
pub(super) struct Credentials {
    pub user: String,
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads a file with two lines.
    pub fn read(path: &Path) -> Result<Credentials, ParameterError> {
        let parameter = "gnmi-credentials";
        let mode = std::fs::metadata(path).map(|file| file.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            let rule = "is readable by others; run chmod 600 on it";
            return Err(ParameterError::new(parameter, path.display(), rule));
        }
        let text = String::from_utf8(read(parameter, path)?).unwrap_or_default();
        let mut lines = text.lines();
        let fits = |line: &&str| !line.is_empty() && line.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        match (lines.next().filter(fits), lines.next().filter(fits), lines.next()) {
            (Some(user), Some(password), None) => {
                Ok(Credentials { user: user.to_owned(), password: password.to_owned() })
            }
            _ => {
                let rule = "must have two lines of printable ASCII characters: the user, and the password";
                Err(ParameterError::new(parameter, path.display(), rule))
            }
        }
    }
}

/// What is known of the certificates of both sides, as the settings say it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tls<'a> {
    pub host: &'a str,
    pub server_name: Option<&'a str>,
    pub ca: Option<&'a Path>,
    /// The certificate of this machine, and its key.
    pub identity: Option<(&'a Path, &'a Path)>,
    pub skip_verification: bool,
}

/// How TLS is spoken with a device, and the name that its certificate must have.
pub(super) type Security = (Arc<ClientConfig>, ServerName<'static>);

/// Reads the files.
pub(super) fn tls(known: Tls<'_>) -> Result<Security, ParameterError> {
    let (parameter, name) = match known.server_name {
        Some(name) => ("gnmi-server-name", name),
        None => ("gnmi", known.host),
    };
    let server = ServerName::try_from(name.to_owned())
        .map_err(|_| ParameterError::new(parameter, name, "must be the name or the address of a host"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder
        .with_safe_default_protocol_versions()
        .unwrap_or_else(|error| unreachable!("ring has the usual ciphers: {error}"));
    let builder = if known.skip_verification {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
    } else {
        builder.with_root_certificates(authorities(known.ca)?)
    };
    let mut config = match known.identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let wrong = |rule: String| ParameterError::new("gnmi-key", key.display(), rule);
            let chain = certificates("gnmi-certificate", certificate)?;
            let secret = PrivateKeyDer::from_pem_slice(&read("gnmi-key", key)?)
                .map_err(|error| wrong(format!("must be a key in PEM format ({error})")))?;
            builder
                .with_client_auth_cert(chain, secret)
                .map_err(|error| wrong(format!("must belong to gnmi-certificate ({error})")))?
        }
    };
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok((Arc::new(config), server))
}

fn authorities(ca: Option<&Path>) -> Result<RootCertStore, ParameterError> {
    let mut roots = RootCertStore::empty();
    match ca {
        None => _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
        Some(path) => {
            for certificate in certificates("gnmi-ca", path)? {
                roots.add(certificate).map_err(|error| {
                    ParameterError::new(
                        "gnmi-ca",
                        path.display(),
                        format!("has a certificate that cannot be used ({error})"),
                    )
                })?;
            }
        }
    }
    Ok(roots)
}

fn certificates(
    parameter: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, ParameterError> {
    let pem = read(parameter, path)?;
    let wrong = |why: String| {
        ParameterError::new(parameter, path.display(), format!("must be certificates in PEM format ({why})"))
    };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match found.map_err(|error| wrong(error.to_string()))? {
        none if none.is_empty() => Err(wrong("it has none".to_owned())),
        found => Ok(found),
    }
}

fn read(parameter: &'static str, path: &Path) -> Result<Vec<u8>, ParameterError> {
    let wrong = |rule: String| ParameterError::new(parameter, path.display(), rule);
    let mut bytes = Vec::new();
    let file =
        File::open(path).map_err(|error| wrong(format!("must be a file that can be read ({error})")))?;
    file.take(FILE_BYTES_MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| wrong(format!("must be a file that can be read ({error})")))?;
    if bytes.len() as u64 > FILE_BYTES_MOST {
        return Err(wrong(format!("must have at most {FILE_BYTES_MOST} bytes")));
    }
    Ok(bytes)
}

/// Takes every certificate, as the operator has asked for. Signatures are checked all the same, so that it is at least the one
/// that the server has a key for.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    /// A file with this text that only its owner may read.
    fn file(folder: &tempfile::TempDir, text: &str, mode: u32) -> std::path::PathBuf {
        let path = folder.path().join("secret");
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
        path
    }

    #[test]
    fn a_password_is_in_a_file_of_its_owner_and_is_not_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = file(&folder, "me\nsecret word\n", 0o600);
        let credentials = Credentials::read(&path).expect("usable");
        assert_eq!((credentials.user.as_str(), credentials.password.as_str()), ("me", "secret word"));
        assert!(!format!("{credentials:?}").contains("secret"));
        let error =
            Credentials::read(&file(&folder, "me\nsecret\n", 0o640)).expect_err("refused").to_string();
        assert!(error.contains("chmod 600") && !error.contains("me\n"), "{error}");
        for text in ["", "me", "me\n", "\nsecret", "me\nsecret\nmore", "me\nse\u{7}cret", "me\ngeheim\u{df}"]
        {
            let error = Credentials::read(&file(&folder, text, 0o600)).expect_err("refused").to_string();
            assert!(error.contains("gnmi-credentials = ") && error.contains("two lines"), "{error}");
            assert!(!error.contains("secret\n") && !error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn files_of_certificates_are_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = file(&folder, "nothing", 0o600);
        let path = path.as_path();
        let usual =
            Tls { host: "leaf1", server_name: None, ca: None, identity: None, skip_verification: false };
        assert!(tls(usual).is_ok());
        for (wrong, part) in [
            (Tls { ca: Some(path), ..usual }, "gnmi-ca = "),
            (Tls { ca: Some(Path::new("/nowhere")), ..usual }, "gnmi-ca = /nowhere"),
            (Tls { identity: Some((path, path)), ..usual }, "gnmi-certificate = "),
            (Tls { server_name: Some("a b"), ..usual }, "gnmi-server-name = a b: must be the name"),
            (Tls { host: "a b", ..usual }, "gnmi = a b: must be the name"),
        ] {
            let error = tls(wrong).expect_err("refused").to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
