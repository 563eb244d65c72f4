import type { LocalText } from '../language.js';

/** Default `detail` of each problem, in the languages of people. A response may have a more specific one. */
export const PROBLEM_DETAILS = {
  unauthorized: {
    pt: 'Chave de API ausente, inválida ou revogada.',
    en: 'The API key is missing, invalid or revoked.',
  },
  'insufficient-scope': {
    pt: 'A chave de API não tem o escopo exigido por esta operação.',
    en: 'The API key lacks the scope that this operation requires.',
  },
  forbidden: {
    pt: 'Esta ação não é permitida.',
    en: 'This action is not allowed.',
  },
  'account-suspended': {
    pt: 'A conta está suspensa; envios estão bloqueados.',
    en: 'The account is suspended; sends are blocked.',
  },
  'validation-error': {
    pt: 'Há campos inválidos na requisição; veja `errors`.',
    en: 'The request has invalid fields; see `errors`.',
  },
  'invalid-message': {
    pt: 'A mensagem está malformada.',
    en: 'The message is malformed.',
  },
  'invalid-phone': {
    pt: 'Informe um telefone de 8 a 15 dígitos, com código do país e de área, ou um id da rede, onde ele é aceito.',
    en: 'Give a phone number of 8 to 15 digits, with country and area code, or a network id where it is accepted.',
  },
  'invalid-reply-to': {
    pt: 'A mensagem citada não existe nesta instância ou ainda não saiu.',
    en: 'The quoted message does not exist in this instance or has not been sent yet.',
  },
  'message-of-former-account': {
    pt: 'A mensagem é da conta que esta instância tinha antes; a conta atual não a tem.',
    en: 'The message belongs to the account that this instance had before; the present account does not have it.',
  },
  'invalid-policy': {
    pt: 'Valor de política inválido.',
    en: 'The policy value is invalid.',
  },
  'invalid-timezone': {
    pt: 'Fuso horário desconhecido; use um nome IANA, como America/Sao_Paulo.',
    en: 'The time zone is unknown; use an IANA name such as America/Sao_Paulo.',
  },
  'invalid-month': {
    pt: 'O mês deve ter o formato AAAA-MM.',
    en: 'The month must have the format YYYY-MM.',
  },
  'invalid-webhook-url': {
    pt: 'A URL do webhook deve ser HTTPS e ter um endereço público.',
    en: 'The webhook URL must be HTTPS and have a public address.',
  },
  'invalid-cursor': {
    pt: 'Cursor inválido ou expirado; recomece sem cursor.',
    en: 'The cursor is invalid or has expired; start again without a cursor.',
  },
  'invalid-idempotency-key': {
    pt: 'O cabeçalho Idempotency-Key deve ter de 1 a 255 caracteres.',
    en: 'The header Idempotency-Key must have 1 to 255 characters.',
  },
  'idempotency-key-reused': {
    pt: 'Esta Idempotency-Key já foi usada com outro corpo nas últimas 24 horas.',
    en: 'This Idempotency-Key was used with another body in the last 24 hours.',
  },
  'idempotency-in-progress': {
    pt: 'A primeira requisição com esta Idempotency-Key ainda está em andamento.',
    en: 'The first request with this Idempotency-Key is still in progress.',
  },
  'precondition-failed': {
    pt: 'O recurso mudou desde a leitura; leia de novo e repita.',
    en: 'The resource has changed since it was read; read it again and repeat.',
  },
  'not-found': {
    pt: 'O recurso não existe.',
    en: 'The resource does not exist.',
  },
  'method-not-allowed': {
    pt: 'Este método não é aceito nesta rota.',
    en: 'This path does not accept the method.',
  },
  'instance-limit-reached': {
    pt: 'O plano não permite mais instâncias.',
    en: 'The plan allows no more instances.',
  },
  'instance-name-taken': {
    pt: 'Já existe uma instância com este nome na conta.',
    en: 'The account already has an instance of this name.',
  },
  'sandbox-limit-reached': {
    pt: 'A conta já tem 3 instâncias sandbox.',
    en: 'The account already has 3 sandbox instances.',
  },
  'not-sandbox': {
    pt: 'A simulação de recebimento só existe em instâncias sandbox.',
    en: 'Only sandbox instances can simulate received messages.',
  },
  'already-paired': {
    pt: 'A instância já está pareada; desconecte-a antes.',
    en: 'The instance is already paired; log it out first.',
  },
  'passkey-not-awaited': {
    pt: 'O pareamento não espera por isto agora.',
    en: 'The pairing does not wait for this now.',
  },
  'pairing-failed': {
    pt: 'A rede recusou o pareamento.',
    en: 'The network refused the pairing.',
  },
  'engine-unavailable': {
    pt: 'O motor de conexão não respondeu a tempo; tente de novo.',
    en: 'The connection engine did not answer in time; try again.',
  },
  'contact-opted-out': {
    pt: 'O contato pediu para não receber mensagens.',
    en: 'The contact asked to receive no messages.',
  },
  'policy-new-contacts-limit': {
    pt: 'A instância atingiu o limite de contatos novos nas últimas 24 horas.',
    en: 'The instance has reached the limit of new contacts of the last 24 hours.',
  },
  'policy-mass-send-blocked': {
    pt: 'O mesmo texto foi enviado a muitos contatos novos em pouco tempo.',
    en: 'The same text was sent to many new contacts in a short time.',
  },
  'policy-outside-hours': {
    pt: 'Fora da janela de horário da instância para contatos que não escreveram nas últimas 24 horas.',
    en: 'It is outside the active hours of the instance for contacts who have not written in the last 24 hours.',
  },
  'rate-limited': {
    pt: 'O limite de requisições por minuto foi excedido.',
    en: 'The limit of requests per minute is exceeded.',
  },
  'media-not-found': {
    pt: 'O arquivo não existe ou expirou (30 dias).',
    en: 'The file does not exist or has expired (30 days).',
  },
  'media-expired': {
    pt: 'O arquivo expirou.',
    en: 'The file has expired.',
  },
  'file-too-large': {
    pt: 'O conteúdo excede o limite de tamanho.',
    en: 'The content exceeds the size limit.',
  },
  'empty-file': {
    pt: 'O arquivo enviado está vazio.',
    en: 'The uploaded file is empty.',
  },
  'storage-limit-reached': {
    pt: 'A conta atingiu o limite de armazenamento do plano.',
    en: 'The account has reached the storage limit of its plan.',
  },
  'too-many-transfers': {
    pt: 'Há transferências de arquivos demais em andamento; tente de novo em alguns segundos.',
    en: 'Too many file transfers are in progress; try again in a few seconds.',
  },
  'server-busy': {
    pt: 'O servidor tem transferências de arquivos demais em andamento; tente de novo em alguns segundos.',
    en: 'The server has too many file transfers in progress; try again in a few seconds.',
  },
  'message-not-sent': {
    pt: 'A mensagem ainda não saiu.',
    en: 'The message has not been sent yet.',
  },
  'not-editable': {
    pt: 'Só mensagens de texto enviadas podem ser editadas.',
    en: 'Only sent text messages can be edited.',
  },
  'edit-window-closed': {
    pt: 'Passaram-se mais de 15 minutos do envio.',
    en: 'More than 15 minutes have passed since the message was sent.',
  },
  'message-sending': {
    pt: 'A mensagem já está saindo e não pode ser cancelada.',
    en: 'The message is already being sent and cannot be cancelled.',
  },
  'webhook-limit-reached': {
    pt: 'A conta já tem 10 destinos de webhook.',
    en: 'The account already has 10 webhooks.',
  },
  'delivery-pending': {
    pt: 'A entrega ainda está em andamento.',
    en: 'The delivery is still in progress.',
  },
  'internal-error': {
    pt: 'Ocorreu um erro inesperado.',
    en: 'An unexpected error occurred.',
  },
  'invalid-credentials': {
    pt: 'E-mail ou senha incorretos.',
    en: 'The e-mail or the password is wrong.',
  },
  'login-locked': {
    pt: 'Tentativas de acesso demais; aguarde o tempo indicado.',
    en: 'Too many attempts to sign in; wait for the given time.',
  },
  'mfa-required': {
    pt: 'Informe o código do segundo fator ou use uma chave de acesso.',
    en: 'Enter the code of the second factor or use a passkey.',
  },
  'invalid-code': {
    pt: 'O código está errado ou já foi usado.',
    en: 'The code is wrong or has been used.',
  },
  'mfa-not-pending': {
    pt: 'Nenhum acesso aguarda um código.',
    en: 'No sign-in waits for a code.',
  },
  'mfa-not-verified': {
    pt: 'A conta exige um segundo fator; configure-o no seu perfil.',
    en: 'The account requires a second factor; set it up in your profile.',
  },
  'mfa-needs-link': {
    pt: 'Para configurar o segundo fator que a conta exige, entre por um link.',
    en: 'To set up the second factor that the account requires, sign in by a link.',
  },
  'mfa-setup-not-started': {
    pt: 'A configuração do segundo fator não foi iniciada.',
    en: 'The set-up of the second factor has not been started.',
  },
  'passwords-off': {
    pt: 'Senhas estão desligadas; entre com o provedor da organização.',
    en: 'Passwords are turned off; sign in with the provider of your organisation.',
  },
  'provider-unavailable': {
    pt: 'O provedor de acesso não responde; tente de novo em instantes.',
    en: 'The sign-in provider does not answer; try again in a moment.',
  },
  'recent-sign-in-required': {
    pt: 'Entre de novo e repita em até 15 minutos.',
    en: 'Sign in again and repeat within 15 minutes.',
  },
  'too-many-passkeys': {
    pt: 'Você já tem 20 chaves de acesso; remova uma antes.',
    en: 'You already have 20 passkeys; remove one first.',
  },
  'weak-password': {
    pt: 'A senha precisa de 12 caracteres. Não pode repetir poucos caracteres nem ter pouco além de palavras comuns, do e-mail, de teclas em sequência e de números em volta de uma palavra.',
    en: 'The password needs 12 characters. It may not repeat few characters, nor have little beside common words, the e-mail, rows of keys, and digits around a word.',
  },
  'csrf-failed': {
    pt: 'O cabeçalho X-CSRF-Token está ausente ou não pertence à sessão.',
    en: 'The header X-CSRF-Token is missing or does not belong to the session.',
  },
  'origin-not-allowed': {
    pt: 'A origem da requisição não é permitida.',
    en: 'The origin of the request is not allowed.',
  },
  'no-account': {
    pt: 'Esta pessoa não é membro da conta.',
    en: 'This person is not a member of the account.',
  },
  'invalid-scopes': {
    pt: 'Os escopos estão vazios, não existem ou não pertencem ao seu papel.',
    en: 'The scopes are empty, unknown or not part of your role.',
  },
  'invalid-expiration': {
    pt: 'A validade deve estar entre um minuto e 10 anos à frente.',
    en: 'The expiry must be between one minute and 10 years ahead.',
  },
  'invitation-invalid': {
    pt: 'O convite foi usado, revogado, expirou ou não existe.',
    en: 'The invitation was used or revoked, has expired, or does not exist.',
  },
  'already-member': {
    pt: 'Esta pessoa já é membro da conta.',
    en: 'This person is already a member of the account.',
  },
  'user-exists': {
    pt: 'Já existe um usuário com este e-mail; entre com ele antes de aceitar o convite.',
    en: 'A user with this e-mail exists; sign in with it before you accept the invitation.',
  },
  'last-owner': {
    pt: 'A conta precisa de ao menos um proprietário.',
    en: 'The account needs at least one owner.',
  },
  'contact-exists': {
    pt: 'Este contato de alerta já existe na conta.',
    en: 'The account already has this alert contact.',
  },
  'too-many-contacts': {
    pt: 'A conta já tem 10 contatos de alerta.',
    en: 'The account already has 10 alert contacts.',
  },
  'invalid-contact': {
    pt: 'Não é possível enviar alertas a este contato.',
    en: 'Alerts cannot be sent to this contact.',
  },
  'handoff-invalid': {
    pt: 'O link de acesso já foi usado, expirou ou não existe.',
    en: 'The sign-in link was used, has expired, or does not exist.',
  },
} satisfies Record<string, LocalText>;
