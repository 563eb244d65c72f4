import type { LocalText } from '@gwk/core/language';
import { OTHER_ACCOUNT } from '@gwk/core/states';

const VERSION_REJECTED: LocalText = {
  pt: 'a rede não aceita a versão do cliente para conectar aparelhos. O administrador do gateway precisa agir',
  en: 'the network does not accept the client version to link devices. The administrator of the gateway must act',
};

/** Texts for consumers, by the engine's reason for a failed pairing. */
const REASONS: Record<string, LocalText> = {
  codes_unread: {
    pt: 'os códigos expiraram sem que um celular os usasse. Um celular que já tem os quatro aparelhos conectados permitidos não usa nenhum: desconecte um deles',
    en: 'the codes expired, and no phone used them. A phone that has the allowed four linked devices uses none: unlink one of them',
  },
  passkey_required: {
    pt: 'o celular exige uma chave de acesso (passkey), que um aparelho conectado assim não tem',
    en: 'the phone requires a passkey, which a device that is linked this way does not have',
  },
  [OTHER_ACCOUNT]: {
    pt: 'o celular tem outra conta que a anterior desta instância. Use o celular da conta anterior, ou mude `on_other_account` para `accept`',
    en: 'the phone has another account than the instance had before. Use the phone of the former account, or set `on_other_account` to `accept`',
  },
  passkey_refused: {
    pt: 'a rede não aceitou a chave de acesso (passkey), ou os códigos não eram iguais',
    en: 'the network did not accept the passkey, or the codes were not equal',
  },
  passkey_expired: {
    pt: 'o pedido da chave de acesso (passkey) expirou, ou o celular não continuou',
    en: 'the request for the passkey expired, or the phone did not continue',
  },
  passkey_unsupported: {
    pt: 'a rede pediu a chave de acesso (passkey) de um modo que esta versão não conhece',
    en: 'the network asked for the passkey in a way that this version does not know',
  },
  passkey_interrupted: {
    pt: 'a conexão ou o motor parou enquanto a chave de acesso (passkey) era esperada',
    en: 'the connection or the engine ended while the passkey was awaited',
  },
  refused_by_the_network: { pt: 'a rede recusou o aparelho', en: 'the network refused the device' },
  signature_refused: { pt: 'a assinatura da conta não confere', en: 'the signature of the account is wrong' },
  no_code_given: {
    pt: 'a rede não deu um código para este número',
    en: 'the network gave no code for this number',
  },
  code_refused: {
    pt: 'a rede não aceita um código para este número. Verifique o número, ou use o QR',
    en: 'the network accepts no code for this number. Check the number, or use the QR code',
  },
  too_many_codes: {
    pt: 'a rede não dá mais códigos a este número por enquanto. Tente mais tarde, ou use o QR',
    en: 'the network gives this number no more codes for now. Try later, or use the QR code',
  },
  version_rejected_405: VERSION_REJECTED,
  version_rejected_409: VERSION_REJECTED,
  version_expected: {
    pt: 'a rede não aceita a versão do cliente, e o gateway procura uma mais nova. Tente de novo em um minuto',
    en: 'the network does not accept the client version, and the gateway looks for a newer one. Try again in a minute',
  },
  timed_out: { pt: 'a rede não respondeu a tempo', en: 'the network did not answer in time' },
  connection_closed: {
    pt: 'a conexão com a rede caiu várias vezes',
    en: 'the connection to the network was lost several times',
  },
};

/** Includes the engine's reason, which the log contains too. */
export function pairingFailure(reason: string): LocalText {
  const words = REASONS[reason];
  const explain = (text: string | undefined): string => (text === undefined ? reason : `${text} (${reason})`);
  return {
    pt: `O pareamento terminou sem um aparelho: ${explain(words?.pt)}.`,
    en: `The pairing ended without a device: ${explain(words?.en)}.`,
  };
}
