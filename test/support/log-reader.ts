import { PassThrough } from 'node:stream';
import { createLogger } from '@gwk/core/process/log';

/** A logger, and the lines logged so far. */
export const createLogReader = () => {
  const lines = new PassThrough();
  const log = createLogger('job', 'warn', lines);
  const all: { msg: string; step: string; table: string; err: { message: string } }[] = [];
  const readLines = () => {
    const text = (lines.read() as Buffer | null)?.toString() ?? '';
    all.push(
      ...text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as (typeof all)[number]),
    );
    return all;
  };
  return { log, readLines };
};
