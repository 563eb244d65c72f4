/** Self-signed certificate for hooks.example.org with its key, for TLS servers of tests. */
export const TEST_CERTIFICATE = {
  name: 'hooks.example.org',
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjce+KZHj+NxaEMhS
pKA1212gV6I3Tv1/yLNmyKiyIv+hRANCAASqDFXQx5tJUr+ezS5bRx3fVX0Mbrva
uIwgD2S5uIMgMhg/l5yacgmgiJ8tavZ3kKYpWIoHmGyS1spKxB/stchZ
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBeTCCAR+gAwIBAgIBATAKBggqhkjOPQQDAjAcMRowGAYDVQQDDBFob29rcy5l
eGFtcGxlLm9yZzAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowHDEa
MBgGA1UEAwwRaG9va3MuZXhhbXBsZS5vcmcwWTATBgcqhkjOPQIBBggqhkjOPQMB
BwNCAASqDFXQx5tJUr+ezS5bRx3fVX0MbrvauIwgD2S5uIMgMhg/l5yacgmgiJ8t
avZ3kKYpWIoHmGyS1spKxB/stchZo1AwTjAcBgNVHREEFTATghFob29rcy5leGFt
cGxlLm9yZzAPBgNVHRMBAf8EBTADAQH/MB0GA1UdDgQWBBQEJ6kq6eVysUSXyvKb
55JNuG87uTAKBggqhkjOPQQDAgNIADBFAiEA1Yiafa5x1pjJKV8i6NfDcPkpe/VS
59jWwoYIN0rAbucCIEpQVIXgymFjg/x9ep8SWY+4PxKoKNN0Ltu03Zy15mMo
-----END CERTIFICATE-----
`,
};
