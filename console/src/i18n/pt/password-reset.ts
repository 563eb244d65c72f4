/** Forgotten passwords. */
export const passwordReset = {
  forgotTitle: 'Esqueceu sua senha?',
  forgotText: 'Informe o e-mail do seu usuário. Você recebe um link para definir uma nova senha.',
  send: 'Enviar o link',
  sentTitle: 'Veja seus e-mails',
  sentText:
    'Se {{email}} pertence a um usuário, um link está a caminho. Ele funciona uma vez, por 30 minutos.',
  toSignIn: 'Voltar para a entrada',
  newTitle: 'Nova senha',
  newPassword: 'Nova senha',
  set: 'Definir a senha',
  doneTitle: 'A senha foi definida',
  doneText: 'Todas as suas sessões terminaram. Entre com a nova senha.',
  again: 'Pedir outro link',
};
