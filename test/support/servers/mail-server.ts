import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { makeServerCertificate } from '@gwk/operator/secrets/certificate';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface ReceivedMail {
  from: string;
  to: string[];
  secure: boolean;
  /** Names in lower case. */
  headers: Map<string, string>;
  /** Decoded. */
  subject: string;
  /** The plain text. */
  text: string;
}

export interface MailServerOptions {
  starttls?: boolean;
  secure?: boolean;
  user?: string;
  password?: string;
  refusedRecipient?: string;
  /** Called with each mail before the server accepts it; an error refuses it for now (451). */
  onMail?: (mail: ReceivedMail) => void | Promise<void>;
}

export interface MailServer {
  /** Settings of a program that sends by this server. */
  settings: Record<string, string>;
  /** Authority of its certificate (PEM). */
  ca: string;
  mails: ReceivedMail[];
  stop(): Promise<void>;
}

/** Starts an SMTP server that keeps the mails it receives. */
export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const { ca, ...pair } = await makeServerCertificate(['localhost', 'mail.example.com']);
  const server = new SMTPServer({ ...serverOptions(options, mails), ...pair });
  // Failed handshakes of clients are expected.
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  let stopped: Promise<void> | undefined;
  return {
    ca,
    mails,
    settings: {
      GWK_SMTP_HOST: 'localhost',
      GWK_SMTP_PORT: String((server.server.address() as AddressInfo).port),
      GWK_SMTP_TLS: 'off',
      GWK_SMTP_FROM: 'gwk@example.org',
    },
    stop: () => (stopped ??= new Promise((resolve) => server.close(() => resolve()))),
  };
}

function serverOptions(options: MailServerOptions, mails: ReceivedMail[]): SMTPServerOptions {
  const { starttls = false, secure = false, user, password, refusedRecipient, onMail } = options;
  const hidden = [...(starttls ? [] : ['STARTTLS']), ...(user === undefined ? ['AUTH'] : [])];
  return {
    secure,
    disabledCommands: hidden,
    authOptional: user === undefined,
    allowInsecureAuth: true,
    closeTimeout: 100,
    onAuth: (auth, _session, done) =>
      auth.username === user && auth.password === password
        ? done(null, { user })
        : done(Object.assign(new Error('refused'), { responseCode: 535 })),
    onRcptTo: ({ address }, _session, done) =>
      address === refusedRecipient
        ? done(Object.assign(new Error(`no ${address}`), { responseCode: 550 }))
        : done(),
    onData: (stream, session, done) => {
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of stream) chunks.push(chunk as Buffer);
        const { mailFrom, rcptTo } = session.envelope;
        const mail = {
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          secure: session.secure,
          ...parseMail(Buffer.concat(chunks).toString('latin1')),
        };
        await onMail?.(mail);
        mails.push(mail);
      })().then(
        () => done(),
        () => done(Object.assign(new Error('later'), { responseCode: 451 })),
      );
    },
  };
}

function parseMail(source: string): Pick<ReceivedMail, 'headers' | 'subject' | 'text'> {
  const [head = '', ...rest] = source.split('\r\n\r\n');
  const headers = parseHeaders(head);
  const boundary = /boundary="?([^";]+)/.exec(headers.get('content-type') ?? '')?.[1];
  const part = rest.join('\r\n\r\n').split(`--${boundary}`)[1] ?? '';
  const [partHead = '', ...partBody] = part.trimStart().split('\r\n\r\n');
  const encoding = parseHeaders(partHead).get('content-transfer-encoding');
  const text = decode(partBody.join('\r\n\r\n'), encoding);
  return { headers, subject: decodeWords(headers.get('subject') ?? ''), text };
}

const parseHeaders = (head: string): Map<string, string> =>
  new Map(
    head
      .replaceAll(/\r\n[ \t]+/g, ' ')
      .split('\r\n')
      .map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
  );

function decode(body: string, encoding: string | undefined): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  if (encoding !== 'quoted-printable') return body;
  return decodePercent(body.replaceAll('=\r\n', ''));
}

/** Encoded words of RFC 2047 in UTF-8. */
const decodeWords = (text: string): string =>
  text
    .replaceAll(/\?= =\?/g, '?==?')
    .replaceAll(/=\?utf-8\?([BQ])\?([^?]*)\?=/gi, (_word, kind: string, content: string) =>
      kind.toUpperCase() === 'B'
        ? Buffer.from(content, 'base64').toString()
        : decodePercent(content.replaceAll('_', ' ')),
    );

const decodePercent = (text: string): string =>
  Buffer.from(
    text.replaceAll(/=([0-9A-F]{2})/gi, (_escape, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  ).toString();
