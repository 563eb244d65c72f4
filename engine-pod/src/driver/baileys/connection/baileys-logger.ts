import type { Logger } from '@gwk/core/log';

/** What Baileys wants of a logger. */
export interface BaileysLogger {
  level: string;
  child(bindings: Record<string, unknown>): BaileysLogger;
  trace(what: unknown, text?: string): void;
  debug(what: unknown, text?: string): void;
  info(what: unknown, text?: string): void;
  warn(what: unknown, text?: string): void;
  error(what: unknown, text?: string): void;
}

const MAX_TEXT = 200;
const LONG_NUMBER = /\d{5,}/g;

/**
 * Baileys logs stanzas, keys and content as objects beside its texts. Only warnings and errors are passed on, and of
 * them the text alone, which is constant in its sources but for names and numbers: some are phones and hidden ids, so
 * long numbers are left out.
 */
export function createBaileysLogger(log: Logger): BaileysLogger {
  const quiet = (): void => undefined;
  const say =
    (level: 'debug' | 'warn') =>
    (what: unknown, text?: string): void => {
      const said = text ?? (typeof what === 'string' ? what : undefined);
      if (said !== undefined)
        log[level]({ library: 'baileys' }, said.replace(LONG_NUMBER, '…').slice(0, MAX_TEXT));
    };
  const logger: BaileysLogger = {
    level: 'warn',
    child: () => logger,
    trace: quiet,
    debug: quiet,
    info: quiet,
    warn: say('debug'),
    error: say('warn'),
  };
  return logger;
}
