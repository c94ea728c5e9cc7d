//! How the connections to the database are encrypted, in libpq's words: `sslmode` and `sslrootcert`.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, SslNegotiation};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What stands for the certificates that the operating system trusts.
const SYSTEM: &str = "system";

/// What a connection has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Mode {
    fn parse(word: &str) -> Result<Self, String> {
        Ok(match word {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                return Err(format!(
                    "sslmode is none of disable, prefer, require, verify-ca, verify-full: {word:?}"
                ));
            }
        })
    }
}

/// What the URL says of encryption.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    mode: Option<Mode>,
    roots: Option<String>,
}

impl Wanted {
    /// Takes `sslmode` and `sslrootcert` out of a URL, for the driver knows only some of their values: the URL without
    /// them, and them.
    pub fn take(url: &str) -> Result<(String, Self), String> {
        let mut wanted = Self::default();
        // A password may hold a question mark: the query begins behind the host.
        let host = url.find("://").map_or(0, |at| at + 3);
        let host = url[host..].find('@').map_or(host, |at| host + at + 1);
        let is_url = url.starts_with("postgres://") || url.starts_with("postgresql://");
        let Some(query) = url[host..].find('?').filter(|_| is_url).map(|at| host + at) else {
            return Ok((url.to_owned(), wanted));
        };
        let mut rest = Vec::new();
        for pair in url[query + 1..].split('&') {
            match pair.split_once('=') {
                Some(("sslmode", word)) => wanted.mode = Some(Mode::parse(word)?),
                Some(("sslrootcert", file)) => {
                    wanted.roots = Some(crate::resources::decode(file).ok_or("sslrootcert cannot be read")?);
                }
                _ => rest.push(pair),
            }
        }
        let rest = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        Ok((format!("{}{rest}", &url[..query]), wanted))
    }

    /// Says in the driver's words what the connections have to be, and makes what encrypts them.
    pub fn apply(self, config: &mut Config) -> Result<MakeRustlsConnect, String> {
        if config.get_hosts().is_empty() {
            // The driver encrypts only to hosts that have a name.
            for address in config.get_hostaddrs().to_vec() {
                config.host(address.to_string());
            }
        }
        let local = |host: &Host| matches!(host, Host::Unix(_));
        let mode = match (self.mode, self.roots.as_deref()) {
            // As in libpq, what never leaves the machine needs no encryption, whatever was asked for.
            _ if !config.get_hosts().is_empty() && config.get_hosts().iter().all(local) => Mode::Disable,
            (None | Some(Mode::VerifyFull), Some(SYSTEM)) => Mode::VerifyFull,
            // Anybody can have a certificate from an authority that everybody trusts: then the name has to count.
            (Some(_), Some(SYSTEM)) => return Err("sslrootcert=system needs sslmode=verify-full".into()),
            (Some(Mode::Require), Some(_)) => Mode::VerifyCa,
            (Some(mode), _) => mode,
            (None, _) => match config.get_ssl_mode() {
                SslMode::Disable => Mode::Disable,
                SslMode::Require => Mode::Require,
                _ => Mode::Prefer,
            },
        };
        config.ssl_mode(match mode {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            _ => SslMode::Require,
        });
        let provider = Arc::new(ring::default_provider());
        let trusted = if mode >= Mode::VerifyCa { trusted(self.roots.as_deref())? } else { Vec::new() };
        let verifier = Arc::new(Verifier::new(mode, trusted, &provider));
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("no encryption: {error}"))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        if config.get_ssl_negotiation() == SslNegotiation::Direct {
            client.alpn_protocols = vec![b"postgresql".to_vec()];
        }
        Ok(MakeRustlsConnect::new(client))
    }
}

/// The certificates that count as authorities.
fn trusted(file: Option<&str>) -> Result<Vec<CertificateDer<'static>>, String> {
    if file == Some(SYSTEM) {
        let found = rustls_native_certs::load_native_certs();
        return match found.certs.is_empty() {
            true => Err("sslrootcert=system: this system has no certificates".into()),
            false => Ok(found.certs),
        };
    }
    let file = match file {
        Some(file) => PathBuf::from(file),
        None => std::env::home_dir().unwrap_or_default().join(".postgresql/root.crt"),
    };
    let told = |error: &dyn std::fmt::Display| {
        format!("sslrootcert {file:?} cannot be read: {error}; name a file of certificates, or system")
    };
    let certificates = CertificateDer::pem_file_iter(&file).map_err(|error| told(&error))?;
    let certificates: Vec<_> = certificates.collect::<Result<_, _>>().map_err(|error| told(&error))?;
    match certificates.is_empty() {
        true => Err(told(&"it holds no certificate")),
        false => Ok(certificates),
    }
}

/// Judges the certificate of the server as far as the mode asks for it. That the server holds its key is always proven.
#[derive(Debug)]
struct Verifier {
    mode: Mode,
    /// As they are: one that is the server's own need not be an authority's.
    trusted: Vec<CertificateDer<'static>>,
    roots: RootCertStore,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn new(mode: Mode, trusted: Vec<CertificateDer<'static>>, provider: &CryptoProvider) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted.iter().cloned());
        Self { mode, trusted, roots, algorithms: provider.signature_verification_algorithms }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.mode < Mode::VerifyCa {
            return Ok(ServerCertVerified::assertion());
        }
        let certificate = ParsedCertificate::try_from(end_entity)?;
        if !self.trusted.contains(end_entity) {
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                &self.roots,
                intermediates,
                now,
                self.algorithms.all,
            )?;
        }
        if self.mode == Mode::VerifyFull {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(url: &str) -> (String, Option<Mode>, Option<String>) {
        let (rest, wanted) = Wanted::take(url).unwrap();
        (rest, wanted.mode, wanted.roots)
    }

    #[test]
    fn what_is_about_encryption_is_taken_out_of_the_url() {
        let (rest, mode, roots) =
            taken("postgres://u:p?w@h/d?sslmode=verify-full&options=-c%20a=b&sslrootcert=%2Fetc%2Fa%20b.crt");
        assert_eq!(rest, "postgres://u:p?w@h/d?options=-c%20a=b");
        assert_eq!((mode, roots.as_deref()), (Some(Mode::VerifyFull), Some("/etc/a b.crt")));
        assert_eq!(taken("postgresql://h/d?sslmode=disable").0, "postgresql://h/d");
        for url in ["postgres://u:sslmode=x?@h/d", "postgres://h/d", "host=h sslmode=require", ""] {
            assert_eq!(taken(url), (url.to_owned(), None, None));
        }
        assert!(Wanted::take("postgres://h/d?sslmode=verify").unwrap_err().contains("verify-ca"));
    }

    fn applied(url: &str) -> Result<SslMode, String> {
        let (url, wanted) = Wanted::take(url)?;
        let mut config: Config = url.parse().unwrap();
        wanted.apply(&mut config)?;
        Ok(config.get_ssl_mode())
    }

    #[test]
    fn encryption_is_used_where_it_is_offered_unless_said() {
        assert_eq!(applied("postgres://h/d"), Ok(SslMode::Prefer));
        assert_eq!(applied("postgres://h/d?sslmode=disable"), Ok(SslMode::Disable));
        assert_eq!(applied("postgres://h/d?sslmode=require"), Ok(SslMode::Require));
        assert_eq!(applied("host=h sslmode=require"), Ok(SslMode::Require));
        assert_eq!(applied("postgres://%2Ftmp/d?sslmode=require"), Ok(SslMode::Disable), "a socket");
        assert_eq!(applied("host=/tmp sslmode=require"), Ok(SslMode::Disable));
    }

    #[test]
    fn what_cannot_be_checked_is_refused_at_the_start() {
        for url in [
            "postgres://h/d?sslmode=verify-ca&sslrootcert=/nowhere/root.crt",
            "postgres://h/d?sslmode=require&sslrootcert=/nowhere/root.crt",
            "postgres://h/d?sslmode=verify-ca&sslrootcert=system",
            "postgres://h/d?sslmode=verify-full&sslrootcert=/dev/null",
        ] {
            assert!(applied(url).unwrap_err().contains("sslrootcert"), "{url}");
        }
    }

    #[test]
    fn an_address_serves_as_a_name() {
        let mut config: Config = "hostaddr=127.0.0.1,127.0.0.2".parse().unwrap();
        Wanted::default().apply(&mut config).unwrap();
        assert_eq!(config.get_hosts().len(), 2);
    }
}
