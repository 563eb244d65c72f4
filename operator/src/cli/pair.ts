import { InvalidArgumentError, Option, type Command } from 'commander';
import type { PairOptions } from './pair/run-pair.js';

/** The command's code is loaded only when it runs, because every `gwk` registers it. */
export function registerPair(program: Command): void {
  program
    .command('pair')
    .argument('<name>', 'name of the Instance; on one machine also its id')
    .description(
      'pair a phone with an Instance: prints the QR code; uses the credentials of kubectl, or the gateway on this machine',
    )
    .option('-n, --namespace <namespace>', 'namespace of the Instance (default: that of the context)')
    .addOption(
      new Option('-m, --method <method>', 'scan a QR code, or type a code on the phone')
        .choices(['qr', 'code'])
        .default('qr'),
    )
    .option(
      '-p, --phone <digits>',
      'phone number with country and area code; required for --method code',
      parsePhone,
    )
    .option('--context <name>', 'context of the kubeconfig')
    .option('--kubeconfig <file>', 'kubeconfig to use instead of KUBECONFIG or ~/.kube/config')
    .action(async (name: string, options: PairOptions) => {
      const { runPair } = await import('./pair/run-pair.js');
      await runPair(name, options);
    });
}

function parsePhone(value: string): string {
  const phone = value.replace(/[\s()+-]/g, '');
  if (!/^[0-9]{8,15}$/.test(phone)) throw new InvalidArgumentError('8 to 15 digits, e.g. 5511999990000');
  return phone;
}
