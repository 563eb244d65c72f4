import { rotatingSetting, setting, types, type ConfigOf } from '@gwk/core/config/load';

/** Settings of the SMTP server. The API and the workers of a gateway use the same values. */
export const mailSettings = {
  smtpHost: setting(
    'GWK_SMTP_HOST',
    types.text(1, 255).optional(),
    'Host of the SMTP server for e-mails of the console and for alerts. Without it gwk sends no e-mail.',
  ),
  smtpPort: setting('GWK_SMTP_PORT', types.integer(1, 65535).default(587), 'Port of the SMTP server.'),
  smtpTls: setting(
    'GWK_SMTP_TLS',
    types.oneOf('starttls', 'tls', 'off').default('starttls'),
    'TLS to the SMTP server: `starttls` requires STARTTLS, `tls` starts with TLS (port 465), `off` uses none.',
  ),
  smtpCa: setting(
    'GWK_SMTP_CA',
    types.text().optional(),
    'Certificate authority (PEM) that must have signed the certificate of the SMTP server. Default: public authorities.',
  ),
  smtpUser: setting(
    'GWK_SMTP_USER',
    types.text(1, 255).optional(),
    'User of the SMTP server. Without it gwk does not sign in.',
  ),
  smtpPassword: rotatingSetting('GWK_SMTP_PASSWORD', types.text().optional(), 'Password of GWK_SMTP_USER.'),
  smtpFrom: setting(
    'GWK_SMTP_FROM',
    types
      .matching(/^[^\s@<>,;"]{1,64}@[^\s@<>,;"]{1,253}$/, 'an e-mail address like gwk@example.com')
      .optional(),
    'Sender address of e-mails. Required with GWK_SMTP_HOST.',
  ),
  smtpSenderName: setting(
    'GWK_SMTP_SENDER_NAME',
    types.text(1, 100).default('gwk'),
    'Sender name of e-mails.',
  ),
};

export type MailConfig = ConfigOf<typeof mailSettings>;
