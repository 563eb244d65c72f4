import type { IncidentKind } from '../resources/console/alert.js';
import type { Language } from '../resources/console/session.js';

export interface AlertText {
  subject: string;
  paragraphs: string[];
  link?: { label: string; url: string };
}

interface Incident {
  kind: IncidentKind;
  phase: 'begin' | 'end';
  account: string;
  /** Name of the number, or URL of the endpoint. */
  subject: string;
  /** Start of the incident, or its end. */
  at: Date;
  /** The page of the number or endpoint in the console; null: the worker does not know its address. */
  url: string | null;
}

interface Words {
  code: (code: string, account: string) => AlertText;
  begin: Record<IncidentKind, (subject: string) => [title: string, what: string]>;
  end: (subject: string, isEndpoint: boolean) => [title: string, what: string];
  account: (name: string) => string;
  time: (time: string) => string;
  open: string;
}

/** Incidents have the time in UTC, because gwk does not know where the person is. */
const WORDS: Record<Language, Words> = {
  'pt-BR': {
    code: (code, account) => ({
      subject: `${code} é o seu código do gwk`,
      paragraphs: [
        `Código: ${code}`,
        `Alguém da conta “${account}” quer avisar você quando um número precisar de atenção. Informe este código a essa pessoa se você concorda. Ele vale 15 minutos.`,
        'Se você não espera este código, ignore esta mensagem.',
      ],
    }),
    begin: {
      logged_out: (subject) => [
        `Número “${subject}” desconectado do celular`,
        'O aparelho foi removido no celular, e o número não envia nem recebe. Conecte o número de novo no console.',
      ],
      banned: (subject) => [
        `Número “${subject}” banido`,
        'O WhatsApp baniu o número, e ele não envia nem recebe.',
      ],
      down: (subject) => [
        `Número “${subject}” sem conexão`,
        'O número está sem conexão há mais de 5 minutos. O gwk continua tentando conectar.',
      ],
      webhook_disabled: (subject) => [
        `Webhook ${subject} desativado`,
        'O endereço falhou repetidas vezes, e o gwk não envia mais eventos a ele. Corrija o endereço e ative-o de novo no console.',
      ],
    },
    end: (subject, isEndpoint) =>
      isEndpoint
        ? [`Resolvido: webhook ${subject}`, 'O webhook está ativo de novo, ou foi removido.']
        : [`Resolvido: número “${subject}”`, 'O número está conectado de novo, ou foi suspenso ou removido.'],
    account: (name) => `Conta: ${name}`,
    time: (time) => `Horário: ${time} UTC`,
    open: 'Abrir no console',
  },
  en: {
    code: (code, account) => ({
      subject: `${code} is your gwk code`,
      paragraphs: [
        `Code: ${code}`,
        `Somebody of the account “${account}” wants to alert you when a number needs attention. Give this code to that person if you agree. It is valid for 15 minutes.`,
        'If you do not expect this code, ignore this message.',
      ],
    }),
    begin: {
      logged_out: (subject) => [
        `Number “${subject}” logged out`,
        'The phone removed the device, so the number neither sends nor receives. Pair the number again in the console.',
      ],
      banned: (subject) => [
        `Number “${subject}” banned`,
        'WhatsApp banned the number, so it neither sends nor receives.',
      ],
      down: (subject) => [
        `Number “${subject}” not connected`,
        'The number has had no connection for more than 5 minutes. gwk keeps trying to connect.',
      ],
      webhook_disabled: (subject) => [
        `Webhook ${subject} disabled`,
        'The address failed repeatedly, so gwk sends no more events to it. Correct the address and enable it again in the console.',
      ],
    },
    end: (subject, isEndpoint) =>
      isEndpoint
        ? [`Resolved: webhook ${subject}`, 'The webhook is enabled again, or was removed.']
        : [`Resolved: number “${subject}”`, 'The number is connected again, or was suspended or removed.'],
    account: (name) => `Account: ${name}`,
    time: (time) => `Time: ${time} UTC`,
    open: 'Open in the console',
  },
};

export const renderCode = (language: Language, code: string, account: string): AlertText =>
  WORDS[language].code(code, account);

export function renderIncident(language: Language, incident: Incident): AlertText {
  const { kind, phase, subject, account, at, url } = incident;
  const words = WORDS[language];
  const [title, what] =
    phase === 'begin' ? words.begin[kind](subject) : words.end(subject, kind === 'webhook_disabled');
  const time = at.toISOString().slice(0, 16).replace('T', ' ');
  return {
    subject: title,
    paragraphs: [what, words.account(account), words.time(time)],
    ...(url !== null && { link: { label: words.open, url } }),
  };
}

/** The text of a WhatsApp message. */
export const toMessageText = ({ subject, paragraphs, link }: AlertText): string =>
  [`*${subject.replaceAll('*', '')}*`, ...paragraphs, ...(link ? [`${link.label}: ${link.url}`] : [])].join(
    '\n\n',
  );
