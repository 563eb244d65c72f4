import type { Language, LocalText } from '@gwk/core/language';

/**
 * Factors of the health score, with their thresholds and penalties; docs/health.md lists them.
 */
export type Step = readonly [threshold: number, penalty: number];

export interface Rule {
  key: string;
  label: LocalText;
  /** `below`: values under the threshold are bad. `from`: values at or above it are bad. */
  side: 'below' | 'from';
  attention: Step;
  bad: Step;
  recommendation: LocalText;
}

export const RULES = {
  delivery: {
    key: 'delivery_ratio',
    label: { pt: 'Entrega', en: 'Delivery' },
    side: 'below',
    attention: [0.9, 10],
    bad: [0.7, 25],
    recommendation: {
      pt: 'Muitas mensagens não chegam: confira os números da sua lista antes de enviar.',
      en: 'Many messages do not arrive. Check the numbers of your list before you send.',
    },
  },
  read: {
    key: 'read_ratio',
    label: { pt: 'Leitura', en: 'Reads' },
    side: 'below',
    attention: [0.3, 5],
    bad: [0.1, 10],
    recommendation: {
      pt: 'Poucas mensagens são lidas: envie só a quem espera a sua mensagem.',
      en: 'Few messages are read. Send only to people who expect your message.',
    },
  },
  reply: {
    key: 'reply_ratio',
    label: { pt: 'Respostas de contatos novos', en: 'Replies of new contacts' },
    side: 'below',
    attention: [0.1, 5],
    bad: [0.03, 15],
    recommendation: {
      pt: 'Contatos novos quase não respondem: convide-os a responder e reduza os primeiros contatos.',
      en: 'New contacts hardly reply. Invite them to reply, and write to fewer new contacts.',
    },
  },
  newContacts: {
    key: 'new_contacts',
    label: { pt: 'Contatos novos em 24 horas', en: 'New contacts in 24 hours' },
    side: 'from',
    attention: [0.8, 5],
    bad: [1, 15],
    recommendation: {
      pt: 'O limite de contatos novos está próximo: distribua os primeiros contatos em mais dias.',
      en: 'The limit of new contacts is near. Spread first messages over more days.',
    },
  },
  optOut: {
    key: 'opt_out_ratio',
    label: { pt: 'Pedidos de saída', en: 'Opt-outs' },
    side: 'from',
    attention: [0.01, 10],
    bad: [0.03, 25],
    recommendation: {
      pt: 'Muitos contatos pedem para sair: reveja a lista, a frequência e o conteúdo.',
      en: 'Many contacts ask to stop. Review the list, the frequency and the content.',
    },
  },
  failures: {
    key: 'failure_ratio',
    label: { pt: 'Falhas de envio', en: 'Failed sends' },
    side: 'from',
    attention: [0.02, 5],
    bad: [0.1, 15],
    recommendation: {
      pt: 'Há muitas falhas de envio: veja o código de erro das mensagens que falharam.',
      en: 'Many sends fail. Read the error code of the failed messages.',
    },
  },
  reconnections: {
    key: 'reconnections',
    label: { pt: 'Quedas da conexão em 24 horas', en: 'Lost connections in 24 hours' },
    side: 'from',
    attention: [5, 5],
    bad: [20, 15],
    recommendation: {
      pt: 'A conexão cai com frequência: confira a internet do celular e da instalação.',
      en: 'The connection is lost often. Check the internet access of the phone and of the gateway.',
    },
  },
} as const satisfies Record<string, Rule>;

/** Ratios of fewer cases are not evaluated. */
export const MIN_CASES = 20;
export const WARM_UP_PENALTY = 10;

export const RESTRICTION_PENALTIES = { banned: 100, restricted: 40, recent: 20 };
export const RESTRICTION_ADVICE = {
  banned: {
    pt: 'O número está bloqueado pela rede: aguarde o fim do bloqueio ou recorra no aplicativo.',
    en: 'The network blocks the number. Wait until the block ends, or ask for a review in the app.',
  },
  restricted: {
    pt: 'A rede restringiu o número: pare os envios a contatos novos por alguns dias.',
    en: 'The network restricted the number. Send nothing to new contacts for some days.',
  },
};
export const WARM_UP_ADVICE = {
  pt: 'O número é novo: aumente os envios aos poucos durante os primeiros 14 dias.',
  en: 'The number is new. Send a little more each day during the first 14 days.',
};

/** Minimum scores of the risks `low` and `medium`. */
export const LOW_RISK = 80;
export const MEDIUM_RISK = 50;

/** Texts about the facts behind a factor. */
export const FACTS = {
  restrictions: { pt: 'Bloqueios e restrições da rede', en: 'Blocks and restrictions by the network' },
  warmUp: { pt: 'Idade do número', en: 'Age of the number' },
  fewCases: (count: number) => ({
    pt: `Ainda há poucos casos (${count}) em 7 dias.`,
    en: `Too few cases (${count}) in 7 days.`,
  }),
  ratio: (part: number, whole: number) => ({
    pt: `${part} de ${whole} (${percent(part / whole, 'pt')}) em 7 dias.`,
    en: `${part} of ${whole} (${percent(part / whole, 'en')}) in 7 days.`,
  }),
  ofLimit: (count: number, limit: number) => ({
    pt: `${count} de ${limit} permitidos.`,
    en: `${count} of ${limit} allowed.`,
  }),
  today: (count: number) => ({ pt: `${count} nas últimas 24 horas.`, en: `${count} in the last 24 hours.` }),
  banned: { pt: 'O número está bloqueado.', en: 'The number is blocked.' },
  restricted: { pt: 'O número está restrito agora.', en: 'The number is restricted now.' },
  bans: (count: number) => ({ pt: `${count} em 30 dias.`, en: `${count} in 30 days.` }),
  ended: {
    pt: 'Uma restrição terminou há menos de 7 dias.',
    en: 'A restriction ended less than 7 days ago.',
  },
  none: { pt: 'Nenhum em 30 dias.', en: 'None in 30 days.' },
  warm: { pt: 'O aquecimento de 14 dias terminou.', en: 'The warm-up of 14 days is over.' },
  notPaired: { pt: 'O número ainda não foi pareado.', en: 'The number has not been paired yet.' },
  daysLeft: (days: number) => ({
    pt: `Dias de aquecimento que faltam: ${days}.`,
    en: `Days of warm-up left: ${days}.`,
  }),
} as const satisfies Record<string, LocalText | ((...counts: number[]) => LocalText)>;

const percent = (value: number, language: Language): string =>
  `${(value * 100).toFixed(1).replace('.', language === 'pt' ? ',' : '.')}%`;
