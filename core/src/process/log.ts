import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';

/** Redacted fields: the second line of defence, for objects that were not made for logging. */
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

/** Creates a logger of JSON lines on standard output. Never log message bodies, keys or secrets; log ids. */
export function createLogger(program: string, level: string, stream?: DestinationStream): Logger {
  const options = {
    level,
    base: { program, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: [...REDACTED, ...REDACTED.map((path) => `*.${path}`)], censor: '[redacted]' },
    serializers: { err: describeError },
  };
  return stream ? pino(options, stream) : pino(options);
}

/**
 * Writes each line before the log call returns. For programs that exit without waiting for their threads
 * (exit-process.ts). Other programs write in a thread, so that a slow reader of the log does not block them.
 */
export const synchronousStdout = (): DestinationStream => pino.destination({ dest: 1, sync: true });

/**
 * Reduces an error to type, code, stack and the last line of its message. The rest may quote input: Prisma and pg
 * repeat parameters in `message`, `detail` and `meta`.
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
