import { ConfigError } from '@gwk/core/config/load';
import type { MailConfig } from '../config/mail.js';
import type { Target } from '@gwk/core/proxy/access';
import { Proxy, type ProxyConfig } from '@gwk/core/proxy/proxy';
import { createTransport, type SMTPTransportOptions } from 'nodemailer';
import { renderMail, type MailText } from './render.js';

const TIMEOUT_MS = 20_000;

export interface Mail extends MailText {
  /** One address. */
  to: string;
  /** Name of the mail in its Message-ID. A repeat with the same name is the same mail for mail programs. */
  id: string;
}

/** The server did not accept the mail. Without the answer of the server, which can quote addresses and content. */
export class MailError extends Error {
  override name = 'MailError';
  constructor(
    /** Code of nodemailer, such as `EAUTH`, `ETIMEDOUT` or `EABORT` (time limit), or of the proxy (proxy-error.ts). */
    readonly code: string,
    /** SMTP status; null: the server did not answer. */
    readonly status: number | null,
  ) {
    super(`mail not sent: ${code}${status === null ? '' : ` ${status}`}`);
  }

  /** The server refuses this sender, recipient or mail. A repeat gets the same answer. */
  get permanent(): boolean {
    return this.code !== 'EAUTH' && this.status !== null && this.status >= 500;
  }
}

/** Sends e-mails, each on a connection of its own. */
export class Mailer {
  readonly #config: MailConfig;
  readonly #from: string;
  readonly #proxy: Proxy | null;

  constructor(config: MailConfig & ProxyConfig, from: string) {
    this.#config = config;
    this.#from = from;
    this.#proxy = Proxy.fromConfig(config);
  }

  /**
   * Returns once the server has accepted the mail. After an error the server may have accepted it, if its answer was lost.
   * @throws MailError
   */
  async send({ to, id, ...text }: Mail, timeoutMs = TIMEOUT_MS): Promise<void> {
    const from = this.#from;
    try {
      await createTransport(connectionOptions(this.#config, this.#proxy)).sendMail({
        from: { name: this.#config.smtpSenderName, address: from },
        // An object is one address. nodemailer would read a text as a list.
        to: { name: '', address: to },
        messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
        headers: { 'Auto-Submitted': 'auto-generated' },
        ...renderMail(text),
        signal: AbortSignal.timeout(timeoutMs),
      });
    } catch (error) {
      const { code = 'EUNKNOWN', responseCode = null } = error as { code?: string; responseCode?: number };
      throw new MailError(code, responseCode);
    }
  }
}

/** Returns null without an SMTP server. @throws ConfigError */
export function openMailer(config: MailConfig & ProxyConfig): Mailer | null {
  if (config.smtpHost === undefined) return null;
  if (config.smtpFrom === undefined)
    throw new ConfigError(['GWK_SMTP_FROM is not set, and GWK_SMTP_HOST is']);
  return new Mailer(config, config.smtpFrom);
}

function connectionOptions(config: MailConfig, proxy: Proxy | null): SMTPTransportOptions {
  const { smtpHost: host = '', smtpPort: port, smtpTls, smtpCa: ca, smtpUser: user } = config;
  return {
    host,
    port,
    secure: smtpTls === 'tls',
    requireTLS: smtpTls === 'starttls',
    ignoreTLS: smtpTls === 'off',
    ...(ca !== undefined && { tls: { ca } }),
    // With a user but no AUTH on the server, nodemailer would send without signing in.
    ...(user !== undefined && { auth: { user, pass: config.smtpPassword() ?? '' }, forceAuth: true }),
    ...(proxy && !proxy.isDirect(host, port) && { getSocket: throughProxy(proxy, { host, port }) }),
    // The time limit of a mail bounds its connection too.
    socketCloseTimeout: 0,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** nodemailer has a proxy client too, which neither trusts a given authority nor hides the password in errors. */
const throughProxy =
  (proxy: Proxy, target: Target): NonNullable<SMTPTransportOptions['getSocket']> =>
  (_options, done) =>
    void proxy.open(target).then((connection) => done(null, { connection }), done);
