import type { Logger } from '@gwk/core/log';

/** The logger interface that Baileys expects. */
interface BaileysLogger {
  level: string;
  child(bindings: Record<string, unknown>): BaileysLogger;
  trace(object: unknown, text?: string): void;
  debug(object: unknown, text?: string): void;
  info(object: unknown, text?: string): void;
  warn(object: unknown, text?: string): void;
  error(object: unknown, text?: string): void;
}

const MAX_TEXT = 200;
const LONG_NUMBER = /\d{5,}/g;

/**
 * Passes on warnings and errors of Baileys as text only. Baileys logs stanzas, keys and content as objects beside
 * the texts. The texts are constant except for names and numbers. Some numbers are phone numbers and LIDs, so long
 * numbers are masked.
 */
export function createBaileysLogger(log: Logger): BaileysLogger {
  const ignore = (): void => undefined;
  const logAs =
    (level: 'debug' | 'warn') =>
    (object: unknown, text?: string): void => {
      const message = text ?? (typeof object === 'string' ? object : undefined);
      if (message !== undefined)
        log[level]({ library: 'baileys' }, message.replace(LONG_NUMBER, '…').slice(0, MAX_TEXT));
    };
  const logger: BaileysLogger = {
    level: 'warn',
    child: () => logger,
    trace: ignore,
    debug: ignore,
    info: ignore,
    warn: logAs('debug'),
    error: logAs('warn'),
  };
  return logger;
}
