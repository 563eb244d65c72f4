import { Button, Group, Modal, Stack, Text, TextInput, type ButtonProps } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { ProblemAlert } from './problem-alert';

interface ConfirmButtonProps extends Pick<ButtonProps, 'size' | 'variant'> {
  label: string;
  title: string;
  text: string;
  /** The user must type this name first. */
  name?: string;
  /** The user must type a code of the second factor, which the action receives. */
  needsCode?: boolean;
  action: (typed: string) => Promise<unknown>;
}

/** A button for a change that cannot be undone: it asks before it acts. */
export function ConfirmButton({ label, size, variant = 'outline', ...question }: ConfirmButtonProps) {
  const { t } = useTranslation();
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <Button color="red" variant={variant} size={size} onClick={open}>
        {label}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={question.title}
        closeButtonProps={{ 'aria-label': t('common.close') }}
      >
        <Question {...question} label={label} close={close} />
      </Modal>
    </>
  );
}

type QuestionProps = Pick<ConfirmButtonProps, 'label' | 'text' | 'name' | 'needsCode' | 'action'> & {
  close: () => void;
};

function Question({ label, text, name, needsCode = false, action, close }: QuestionProps) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState('');
  const attempt = useMutation({ mutationFn: () => action(typed), onSuccess: close });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text>{text}</Text>
        {(needsCode || name !== undefined) && (
          <TextInput
            label={needsCode ? t('signIn.code') : t('common.typeName', { name })}
            description={needsCode && t('signIn.codeHelp')}
            required={needsCode}
            autoComplete={needsCode ? 'one-time-code' : 'off'}
            data-autofocus
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        )}
        <ProblemAlert error={attempt.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('common.cancel')}
          </Button>
          <Button
            type="submit"
            color="red"
            loading={attempt.isPending}
            disabled={name !== undefined && typed !== name}
          >
            {label}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
