import { toString as encodeQr } from 'qrcode';
import { pair, type PairCluster } from './pair.js';
import type { PairOptions } from './options.js';

/**
 * Pairs in this terminal until the user interrupts. The workspaces that import this file list qrcode.
 * @throws CliError if no phone is paired
 */
export async function pairInTerminal(cluster: PairCluster, { method, phone }: PairOptions): Promise<void> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  const print = (text: string) => void process.stdout.write(`${text}\n`);
  await pair({ cluster, print, renderQr, signal: interrupted.signal }, method, phone ?? null);
}

/** Prints dark on light in any terminal. Without a terminal it prints characters only. */
export function renderQr(code: string): Promise<string> {
  if (!process.stdout.isTTY) return encodeQr(code, { type: 'utf8', errorCorrectionLevel: 'L' });
  return encodeQr(code, { type: 'terminal', small: true, errorCorrectionLevel: 'L' });
}
