import { InvalidArgumentError, Option, type Command } from 'commander';
import type { PairingRequest } from '../resources/pairing-request.js';

/** Options of the commands that pair. The workspaces that import this file list commander. */
export interface PairOptions {
  method: PairingRequest['method'];
  phone?: string;
}

export function addPairOptions(command: Command): Command {
  return command
    .addOption(
      new Option('-m, --method <method>', 'scan a QR code, or type a code on the phone')
        .choices(['qr', 'code'])
        .default('qr'),
    )
    .option(
      '-p, --phone <digits>',
      'phone number with country and area code; required for --method code',
      parsePhone,
    );
}

function parsePhone(value: string): string {
  const phone = value.replace(/[\s()+-]/g, '');
  if (!/^[0-9]{8,15}$/.test(phone)) throw new InvalidArgumentError('8 to 15 digits, e.g. 5511999990000');
  return phone;
}
