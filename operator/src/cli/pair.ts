import type { Command } from 'commander';
import { addPairOptions } from '@gwk/core/pairing/options';
import type { OperatorPairOptions } from './pair/run-pair.js';

/** The command's code is loaded only when it runs, because every `gwk` registers it. */
export function registerPair(program: Command): void {
  addPairOptions(program.command('pair'))
    .argument('<name>', 'name of the Instance; on one machine also its id')
    .description(
      'pair a phone with an Instance: prints the QR code; uses the credentials of kubectl, or the gateway on this machine',
    )
    .option('-n, --namespace <namespace>', 'namespace of the Instance (default: that of the context)')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--kubeconfig <file>', 'kubeconfig to use instead of KUBECONFIG or ~/.kube/config')
    .action(async (name: string, options: OperatorPairOptions) => {
      const { runPair } = await import('./pair/run-pair.js');
      await runPair(name, options);
    });
}
