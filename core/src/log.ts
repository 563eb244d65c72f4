import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';

/**
 * JSON lines on standard output. Never log a message body, a key or a secret: log ids. The redaction here is the
 * second line of defence, for objects that were not made for logging.
 */
const REDACTED = [
  'authorization',
  'password',
  'token',
  'secret',
  'key',
  'body',
  'text',
  'content',
  'req.headers.authorization',
  'headers.authorization',
  'err.config',
];

export function createLogger(program: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { program, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: [...REDACTED, ...REDACTED.map((path) => `*.${path}`)], censor: '[redacted]' },
    serializers: { err: describeError },
  };
  return destination ? pino(options, destination) : pino(options);
}

/**
 * Standard output, on which a line is written before the call returns: for a program whose end waits for none of its
 * threads (end-process.ts). Elsewhere a thread writes, so that whoever does not read the log holds nothing up.
 */
export const synchronousStdout = (): DestinationStream => pino.destination({ dest: 1, sync: true });

/**
 * An error as it may be logged: name, code, place and a message without what databases and clients quote from
 * their input (Prisma and pg repeat parameters in `message`, `detail` and `meta`).
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code } = error as { code?: string | number };
  return {
    type: error.name,
    ...(code !== undefined && { code: String(code) }),
    message: error.message.split('\n').at(-1)?.slice(0, 200),
    stack: error.stack
      ?.split('\n')
      .filter((line) => line.trimStart().startsWith('at '))
      .slice(0, 12)
      .join('\n'),
  };
}
