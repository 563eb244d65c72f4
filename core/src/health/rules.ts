/**
 * Factors of the health score, with their thresholds and penalties; docs/health.md lists them.
 */
export type Step = readonly [threshold: number, penalty: number];

export interface Rule {
  key: string;
  label: string;
  /** `below`: values under the threshold are bad. `from`: values at or above it are bad. */
  side: 'below' | 'from';
  attention: Step;
  bad: Step;
  recommendation: string;
}

export const RULES = {
  delivery: {
    key: 'delivery_ratio',
    label: 'Entrega',
    side: 'below',
    attention: [0.9, 10],
    bad: [0.7, 25],
    recommendation: 'Muitas mensagens não chegam: confira os números da sua lista antes de enviar.',
  },
  read: {
    key: 'read_ratio',
    label: 'Leitura',
    side: 'below',
    attention: [0.3, 5],
    bad: [0.1, 10],
    recommendation: 'Poucas mensagens são lidas: envie só a quem espera a sua mensagem.',
  },
  reply: {
    key: 'reply_ratio',
    label: 'Respostas de contatos novos',
    side: 'below',
    attention: [0.1, 5],
    bad: [0.03, 15],
    recommendation:
      'Contatos novos quase não respondem: convide-os a responder e reduza os primeiros contatos.',
  },
  newContacts: {
    key: 'new_contacts',
    label: 'Contatos novos em 24 horas',
    side: 'from',
    attention: [0.8, 5],
    bad: [1, 15],
    recommendation: 'O limite de contatos novos está próximo: distribua os primeiros contatos em mais dias.',
  },
  optOut: {
    key: 'opt_out_ratio',
    label: 'Pedidos de saída',
    side: 'from',
    attention: [0.01, 10],
    bad: [0.03, 25],
    recommendation: 'Muitos contatos pedem para sair: reveja a lista, a frequência e o conteúdo.',
  },
  failures: {
    key: 'failure_ratio',
    label: 'Falhas de envio',
    side: 'from',
    attention: [0.02, 5],
    bad: [0.1, 15],
    recommendation: 'Há muitas falhas de envio: veja o código de erro das mensagens que falharam.',
  },
  reconnections: {
    key: 'reconnections',
    label: 'Quedas da conexão em 24 horas',
    side: 'from',
    attention: [5, 5],
    bad: [20, 15],
    recommendation: 'A conexão cai com frequência: confira a internet do celular e da instalação.',
  },
} as const satisfies Record<string, Rule>;

/** Ratios of fewer cases are not evaluated. */
export const MIN_CASES = 20;
export const WARM_UP_PENALTY = 10;

export const RESTRICTION_PENALTIES = { banned: 100, restricted: 40, recent: 20 };
export const RESTRICTION_ADVICE = {
  banned: 'O número está bloqueado pela rede: aguarde o fim do bloqueio ou recorra no aplicativo.',
  restricted: 'A rede restringiu o número: pare os envios a contatos novos por alguns dias.',
};
export const WARM_UP_ADVICE = 'O número é novo: aumente os envios aos poucos durante os primeiros 14 dias.';

/** Minimum scores of the risks `low` and `medium`. */
export const LOW_RISK = 80;
export const MEDIUM_RISK = 50;
