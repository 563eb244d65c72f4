import type { SocketConfig } from '@whiskeysockets/baileys';
import type { Logger } from '@gwk/core/process/log';

type BaileysLogger = SocketConfig['logger'];

const MAX_TEXT = 200;
const LONG_NUMBER = /\d{5,}/g;

/** Some numbers are phone numbers and LIDs. */
export const maskNumbers = (text: string): string => text.replace(LONG_NUMBER, '…');

const ignore = (): void => undefined;

export const SILENT_LOGGER: BaileysLogger = {
  level: 'silent',
  child: () => SILENT_LOGGER,
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
};

/**
 * Passes on warnings and errors of Baileys as text only. Baileys logs stanzas, keys and content as objects beside
 * the texts. The texts are constant except for names and numbers. Some numbers are phone numbers and LIDs, so long
 * numbers are masked.
 */
export function createBaileysLogger(log: Logger): BaileysLogger {
  const logAs =
    (level: 'debug' | 'warn') =>
    (object: unknown, text?: string): void => {
      const message = text ?? (typeof object === 'string' ? object : undefined);
      if (message !== undefined) log[level]({ library: 'baileys' }, maskNumbers(message).slice(0, MAX_TEXT));
    };
  const logger: BaileysLogger = {
    ...SILENT_LOGGER,
    level: 'warn',
    child: () => logger,
    warn: logAs('debug'),
    error: logAs('warn'),
  };
  return logger;
}
