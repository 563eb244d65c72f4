import type { Language } from '../resources/console/session.js';
import type { Role } from '../roles.js';
import type { MailText } from '../mail/render.js';

const ROLES: Readonly<Record<Language, Readonly<Record<Role, string>>>> = {
  'pt-BR': {
    owner: 'proprietário',
    admin: 'administrador',
    developer: 'desenvolvedor',
    agent: 'atendente',
    viewer: 'leitor',
  },
  en: { owner: 'owner', admin: 'administrator', developer: 'developer', agent: 'agent', viewer: 'viewer' },
};

export interface Invited {
  account: string;
  role: Role;
  /** E-mail of the inviter. The name would let an inviter write any text to any person. */
  by: string;
  /** Name of the provider with which a new person must sign in; null: the person chooses a password. */
  provider: string | null;
}

export function renderInvitation(
  language: Language,
  { account, role, by, provider }: Invited,
  url: string,
): MailText {
  const roleName = ROLES[language][role];
  return language === 'en'
    ? {
        language,
        subject: `Invitation to the account ${account}`,
        paragraphs: [
          `${by} invites you to the account ${account} as ${roleName}.`,
          ...(provider === null ? [] : [`Sign in with ${provider} and this e-mail.`]),
          'The link works once, for 7 days. If you do not expect the invitation, ignore this e-mail.',
        ],
        link: { label: 'Join the account', url },
      }
    : {
        language,
        subject: `Convite para a conta ${account}`,
        paragraphs: [
          `${by} convida você para a conta ${account} como ${roleName}.`,
          ...(provider === null ? [] : [`Entre com ${provider} e este e-mail.`]),
          'O link funciona uma vez, por 7 dias. Se você não espera o convite, ignore este e-mail.',
        ],
        link: { label: 'Participar da conta', url },
      };
}

export function renderReset(language: Language, url: string): MailText {
  return language === 'en'
    ? {
        language,
        subject: 'New password',
        paragraphs: [
          'Somebody asked for a new password of your user.',
          'The link works once, for 30 minutes. If it was not you, ignore this e-mail: your password stays.',
        ],
        link: { label: 'Choose a new password', url },
      }
    : {
        language,
        subject: 'Nova senha',
        paragraphs: [
          'Alguém pediu uma nova senha para o seu usuário.',
          'O link funciona uma vez, por 30 minutos. Se não foi você, ignore este e-mail: sua senha continua a mesma.',
        ],
        link: { label: 'Escolher uma nova senha', url },
      };
}

/** Changes that give a lasting way in. */
export type SecurityNotice = 'factor' | 'passkey' | 'password' | 'key' | 'owner';

const NOTICES: Readonly<Record<Language, Readonly<Record<SecurityNotice, string>>>> = {
  'pt-BR': {
    factor: 'Um segundo fator foi configurado para o seu usuário.',
    passkey: 'Uma chave de acesso foi adicionada ao seu usuário.',
    password: 'A senha do seu usuário foi trocada.',
    key: 'O seu usuário criou uma chave de API que não expira.',
    owner: 'Há um novo proprietário.',
  },
  en: {
    factor: 'A second factor was set up for your user.',
    passkey: 'A passkey was added to your user.',
    password: 'The password of your user was changed.',
    key: 'Your user created an API key that does not expire.',
    owner: 'There is a new owner.',
  },
};

export function renderSecurityNotice(
  language: Language,
  notice: SecurityNotice,
  account: string | null,
): MailText {
  const what = NOTICES[language][notice];
  return language === 'en'
    ? {
        language,
        subject: account === null ? 'Change of your user' : `Change in the account ${account}`,
        paragraphs: [
          what,
          'If you do not expect this, end your sessions in the profile, look into the audit log, and ask an administrator.',
        ],
      }
    : {
        language,
        subject: account === null ? 'Mudança no seu usuário' : `Mudança na conta ${account}`,
        paragraphs: [
          what,
          'Se você não esperava por isso, encerre as suas sessões no perfil, veja o registro de auditoria e avise um administrador.',
        ],
      };
}

/** @param canReset the sign-in page mails a link for a new password, which also ends a lock */
export function renderLockNotice(language: Language, { canReset }: { canReset: boolean }): MailText {
  return language === 'en'
    ? {
        language,
        subject: 'Sign-in locked',
        paragraphs: [
          'Too many sign-ins of your user failed, so its sign-ins are locked for 15 minutes, or up to 24 hours after many failures.',
          canReset
            ? 'If it was not you, ask for a link on the sign-in page and set a new password. That also ends the lock of the password.'
            : 'If it was not you, ask an administrator for help.',
        ],
      }
    : {
        language,
        subject: 'Acesso bloqueado',
        paragraphs: [
          'Houve muitas tentativas de acesso erradas com o seu usuário. O acesso está bloqueado por 15 minutos, ou por até 24 horas depois de muitos erros.',
          canReset
            ? 'Se não foi você, peça um link na página de entrada e defina uma nova senha. Isso também encerra o bloqueio da senha.'
            : 'Se não foi você, avise um administrador.',
        ],
      };
}
