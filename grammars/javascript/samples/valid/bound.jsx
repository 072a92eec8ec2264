export const Footer = (props) => <Button onClear={::this.handleClear} text={props.text} />;
