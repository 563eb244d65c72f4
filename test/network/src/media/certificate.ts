/**
 * What media hosts of the network show: real ones speak TLS only, so clients know nothing else. It certifies itself
 * for this machine, and nothing trusts it that is not told to. The key is no secret.
 */
export const MEDIA_CERTIFICATE = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgtY8tn8OTlZT2zeP2
wIKJNR/YpsFXaNsbBO/D9MtsypyhRANCAARLMHn+hOf11EC4Yd496aeZtRWvYupd
38V3zM8gJVWhdDIUGmnym5+MvsJ7i8uvaEe5FKyxo4sfcth24h+zy29a
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBwjCCAWmgAwIBAgIUcV80h6xU3mpwV96tGLdY/SzmJJYwCgYIKoZIzj0EAwIw
HTEbMBkGA1UEAwwSbWVkaWEubmV0d29yay50ZXN0MCAXDTI2MTEyMTE0MjYzN1oY
DzIxMjYxMDI4MTQyNjM3WjAdMRswGQYDVQQDDBJtZWRpYS5uZXR3b3JrLnRlc3Qw
WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARLMHn+hOf11EC4Yd496aeZtRWvYupd
38V3zM8gJVWhdDIUGmnym5+MvsJ7i8uvaEe5FKyxo4sfcth24h+zy29ao4GEMIGB
MB0GA1UdDgQWBBRl1yVJ/xEKZEQY7zanPl2A6C/6HzAfBgNVHSMEGDAWgBRl1yVJ
/xEKZEQY7zanPl2A6C/6HzAuBgNVHREEJzAlghJtZWRpYS5uZXR3b3JrLnRlc3SC
CWxvY2FsaG9zdIcEfwAAATAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cA
MEQCIAfIY1QUo3ybPpSJ+2dawMiBtq1wheCPGd9T9ytrDw3QAiAo44PRNc+tUlab
kakG4nk89M1Kv6EV0sJveP/hKc8xwA==
-----END CERTIFICATE-----
`,
};
