import { InvalidArgumentError, Option, type Command } from 'commander';
import type { PairOptions } from './pair/run-pair.js';

/** What the command needs is loaded when it runs: every `gwk` registers it. */
export function registerPair(program: Command): void {
  program
    .command('pair')
    .argument('<name>', 'of the Instance')
    .description('pair a phone with an Instance: shows the QR here, with the credentials of kubectl')
    .option('-n, --namespace <namespace>', "where it is; the context's when not given")
    .addOption(
      new Option('-m, --method <method>', 'scan a QR, or type a code on the phone')
        .choices(['qr', 'code'])
        .default('qr'),
    )
    .option('-p, --phone <digits>', 'with country and area code; needed for --method code', digits)
    .option('--context <name>', 'of the kubeconfig')
    .option('--kubeconfig <file>', 'in place of KUBECONFIG or ~/.kube/config')
    .action(async (name: string, options: PairOptions) => {
      const { runPair } = await import('./pair/run-pair.js');
      await runPair(name, options);
    });
}

function digits(value: string): string {
  const phone = value.replace(/[\s()+-]/g, '');
  if (!/^[0-9]{8,15}$/.test(phone)) throw new InvalidArgumentError('8 to 15 digits, e.g. 5511999990000');
  return phone;
}
